"""The command of codes, `warm_up` and `show_versions`; they import the whole package."""

__all__: list[str] = []
