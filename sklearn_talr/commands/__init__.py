"""Commands, `warm_up` and `show_versions`, which import the whole package."""

__all__: list[str] = []
