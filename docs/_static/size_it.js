// The calculator of the page "Size an index". It asks no server.
// CONSTANTS is JSON, which tests read: milliseconds, as
// `benchmarks/bench_size.py --constants` prints them.
(() => {
  "use strict";
  const CONSTANTS = {
    "ms": {"Hamming": {"call_ms": 0.12, "ms_per_million_items": 0.23,
             "ms_per_million_units": 0.96},
           "weighted": {"call_ms": 0.13, "ms_per_million_items": 5.2,
             "ms_per_million_units": 0.94},
           "floats": {"call_ms": 0.15, "ms_per_million_items": 5.9,
             "ms_per_million_units": 0.86}}
  };
  const LIMITS = {
    items: [1, 1e15, "items"],
    bits: [1, 65536, "bits"],
    own: [0, 1e9, "bytes of ids and metadata"],
    features: [1, 1e6, "numbers in an embedding"],
    wait: [0.01, 1e9, "milliseconds"],
  };

  // Bytes and milliseconds ------------------------------------------------------------------

  const ms = (way, items, units) => {
    const c = CONSTANTS.ms[way];
    const ofItem = c.ms_per_million_items + c.ms_per_million_units * units;
    return c.call_ms + ofItem * items / 1e6;
  };

  const estimate = input => {
    const {items, bits, terms, features, own} = input;
    const index = items * (Math.ceil(bits / 8) + terms);
    const rescored = input.keep * items * features;
    return {
      index,
      perItem: index / items,
      rescored,
      own: own * items,
      all: index + rescored + own * items,
      hamming: ms("Hamming", items, Math.ceil(bits / 64)),
      weighted: ms("weighted", items, Math.ceil(bits / 8)),
      floats: ms("floats", items, features),
      floatBytes: 4 * items * features,
    };
  };

  // Numbers for people ----------------------------------------------------------------------

  const short = number => {
    if (number === 0) return "0";
    const digits = number >= 100 ? 0 : number >= 10 ? 1 : 2;
    return Number(number.toFixed(digits)).toLocaleString("en-US").replaceAll(",", "\u00a0");
  };

  const withUnit = (value, units) => {
    const last = units.length - 1;
    const place = units.findIndex(([, size], i) =>
      i === last || value < 0.9995 * units[i + 1][1]);
    const [name, size] = units[place];
    return `${short(value / size)}\u00a0${name}`;
  };

  const inBytes = value => withUnit(value, [
    ["bytes", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12], ["PB", 1e15],
    ["EB", 1e18], ["ZB", 1e21],
  ]);

  const inTime = value => withUnit(value, [
    ["ms", 1], ["s", 1e3], ["min", 6e4], ["hours", 3.6e6], ["days", 8.64e7],
    ["years", 3.156e10],
  ]);

  // What is typed: 1000000, 1 000 000, 1,000,000, 1_000_000, 1e6, .5
  const read = text => {
    const plain = text.trim().replace(/(\d)[\s_,\u00a0\u202f](?=\d{3}(\D|$))/g, "$1");
    return /^(\d+\.?\d*|\.\d+)(e\+?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  };

  const problem = (name, value) => {
    const [least, most, label] = LIMITS[name];
    const whole = ["items", "bits", "features"].includes(name);
    if (Number.isNaN(value)) return "Write a number, such as 1 000 000 or 1e6.";
    if (whole && !Number.isInteger(value) && value < 1e15) return "Write a whole number.";
    if (value < least) {
      return name === "items" ? "An index holds at least 1 item."
        : `At least ${least} for ${label}.`;
    }
    return value > most ? `At most ${most.toLocaleString("en-US")} for ${label}.` : "";
  };

  const advice = (found, byWeights, wait) => {
    const codes = byWeights ? found.weighted : found.hamming;
    const floats = "NearestNeighbors of scikit-learn searches the embeddings themselves in "
      + `${inTime(found.floats)}, and they take ${inBytes(found.floatBytes)}.`;
    if (found.floats <= wait) {
      return `${floats} That is quick enough: take codes only where memory is short.`;
    }
    if (found.floatBytes <= found.index) {
      return `${floats} The index takes no less memory: take fewer bits.`;
    }
    const share = short(found.floatBytes / found.index);
    const cheaper = `${floats} The index takes ${share} times less memory.`;
    if (codes <= wait) return `${cheaper} Take codes.`;
    const remedy = byWeights && found.hamming <= wait ? "set n_candidates=1000, "
      : "share the items out to processes, ";
    return `${cheaper} One thread takes longer than you allow all the same: ${remedy}`
      + "search in faiss, or take fewer bits.";
  };

  // The form --------------------------------------------------------------------------------

  const start = form => {
    const field = name => form.elements.namedItem(name);
    const output = name => form.querySelector(`[data-output="${name}"]`);

    const update = () => {
      const input = {terms: Number(field("terms").value), keep: Number(field("keep").value)};
      let sound = true;
      for (const name of Object.keys(LIMITS)) {
        const box = field(name), message = problem(name, read(box.value));
        input[name] = read(box.value);
        box.setAttribute("aria-invalid", message ? "true" : "false");
        form.querySelector(`#${box.id}-error`).textContent = message;
        sound = sound && !message;
      }
      const found = sound ? estimate(input) : null;
      const byWeights = field("query").value === "weights";
      const texts = found && {
        index: inBytes(found.index),
        perItem: `${short(found.perItem)}\u00a0bytes`,
        rescored: inBytes(found.rescored),
        own: inBytes(found.own),
        all: inBytes(found.all),
        time: inTime(byWeights ? found.weighted : found.hamming),
        floats: `${inBytes(found.floatBytes)}, ${inTime(found.floats)}`,
        advice: advice(found, byWeights, input.wait),
      };
      for (const element of form.querySelectorAll("[data-output]")) {
        const none = element.dataset.output === "advice"
          ? "Correct what is marked above." : "–";
        element.textContent = texts ? texts[element.dataset.output] : none;
      }
    };

    form.addEventListener("input", update);
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(update));
    form.hidden = false;
    update();
  };

  window.sizeIt = {CONSTANTS, estimate, inBytes, inTime, read};
  for (const form of document.querySelectorAll("form.size-it")) start(form);
})();
