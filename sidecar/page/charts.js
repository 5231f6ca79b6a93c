// Charts of up to 24 hours as inline SVG. A sample is [seconds since 1970, value, …].

// Duration of each range, distance of ticks, and duration of a row in the table.
const RANGES = [
  { label: "15 min", title: "Last 15 minutes", seconds: 900, tick_s: 300, row_s: 60 },
  { label: "1 h", title: "Last hour", seconds: 3600, tick_s: 900, row_s: 300 },
  { label: "6 h", title: "Last 6 hours", seconds: 21600, tick_s: 3600, row_s: 1800 },
  { label: "24 h", title: "Last 24 hours", seconds: 86400, tick_s: 14400, row_s: 3600 },
];
// Pixels; `width` follows the page, so that text keeps its size.
const CHART = { width: 720, height: 150, left: 66, right: 10, top: 10, bottom: 24 };
const SVG = "http://www.w3.org/2000/svg";
// Title, unit and columns of the history. `isLowBad`: low values indicate a problem.
const SERIES = [
  { title: "Lag", unit: "seconds", column: "lag_s" },
  { title: "Events delivered", unit: "per_second", column: "events_per_s" },
  { title: "cdc_raw", unit: "bytes", column: "cdc_raw_bytes", limit: "cdc_raw_limit_bytes" },
  { title: "Oplog headroom", unit: "seconds", column: "oplog_headroom_s", isLowBad: true },
];

// Returns the shortest range that contains all samples.
function rangeOf(samples, now_s) {
  const age_s = samples.length ? now_s - samples[0][0] : 0;
  return RANGES.find((range) => age_s <= range.seconds) || RANGES[RANGES.length - 1];
}

// Returns points [seconds, value or null] of one series, or null if the history has no such column.
function pointsOf(history, column) {
  const at = history.columns.indexOf(column);
  if (at < 1) return null;
  return history.samples.map((sample) => [sample[0], sample[at] === undefined ? null : sample[at]]);
}

// Splits points at gaps: missing values, or periods without samples.
function runsOf(points, interval_s) {
  const runs = [];
  let run = [];
  for (const point of points) {
    const last = run[run.length - 1];
    if (last && (point[1] === null || point[0] - last[0] > 2.5 * interval_s)) { runs.push(run); run = []; }
    if (point[1] !== null) run.push(point);
  }
  if (run.length) runs.push(run);
  return runs;
}

// Returns ticks from 0 to at least `most`: three to six steps of a round length.
function ticksOf(most, unit) {
  const bases = unit === "bytes" ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] : [1, 2, 5, 10, 20, 50, 100, 200, 500];
  let factor = 1;
  if (unit === "bytes") while (most > 1024 * factor) factor *= 1024;
  else if (unit === "seconds") factor = most > 172800 ? 86400 : most > 3600 ? 3600 : most > 120 ? 60 : 1;
  while (unit !== "bytes" && most > 2500 * factor) factor *= 1000;
  const step = factor * (bases.find((base) => base * factor * 5 >= most) || 1024);
  return Array.from({ length: Math.ceil(Math.max(most, step) / step) + 1 }, (_, at) => at * step);
}

// Describes the latest value, the worst value with its time, and the duration of gaps.
function summaryOf(points, series, runs, interval_s) {
  const unit = series.unit;
  const known = points.filter((point) => point[1] !== null);
  if (!known.length) return "no values yet";
  const sign = series.isLowBad ? -1 : 1;
  const worst = known.reduce((best, point) => (sign * point[1] > sign * best[1] ? point : best));
  const last = known[known.length - 1];
  let missing_s = 0;
  for (let at = 1; at < runs.length; at += 1) missing_s += runs[at][0][0] - runs[at - 1][runs[at - 1].length - 1][0] - interval_s;
  const gap = missing_s > 0 ? "; without values for " + secondsText(missing_s) : "";
  return "now " + valueText(last[1], unit) + (series.isLowBad ? ", lowest " : ", highest ") + valueText(worst[1], unit) + " at " + clockText(worst[0] * 1000) + gap;
}

// Maps the start of each row with samples to the mean of a rate, else the worst value.
function rowsByStart(points, series, row_s) {
  const rows = new Map();
  for (const [at_s, value] of points) {
    const start_s = Math.floor(at_s / row_s) * row_s;
    if (value !== null) rows.set(start_s, [...(rows.get(start_s) || []), value]);
  }
  const mean = (found) => found.reduce((sum, each) => sum + each) / found.length;
  const worth = (found) => (series.unit === "per_second" ? mean(found) : (series.isLowBad ? Math.min : Math.max)(...found));
  return new Map(Array.from(rows, ([start_s, found]) => [start_s, worth(found)]));
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const name of Object.keys(attributes)) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function scaleOf(now_s, range, top) {
  const { width, height, left, right, top: above, bottom } = CHART;
  return {
    x: (at_s) => left + (width - left - right) * (1 - (now_s - at_s) / range.seconds),
    y: (value) => height - bottom - (height - above - bottom) * (value / top),
  };
}

function axes(scale, ticks, unit, now_s, range) {
  const group = drawn("g", { class: "axis" });
  for (const value of ticks) {
    const y = scale.y(value).toFixed(1);
    group.append(drawn("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y, y2: y }),
      drawn("text", { x: CHART.left - 6, y: Number(y) + 4, "text-anchor": "end" }, valueText(value, unit)));
  }
  const zone_s = new Date(now_s * 1000).getTimezoneOffset() * 60;
  const { seconds, tick_s } = range;
  for (let at_s = Math.ceil((now_s - seconds - zone_s) / tick_s) * tick_s + zone_s; at_s <= now_s; at_s += tick_s) {
    const x = scale.x(at_s).toFixed(1);
    group.append(drawn("line", { x1: x, x2: x, y1: CHART.height - CHART.bottom, y2: CHART.height - CHART.bottom + 4 }),
      drawn("text", { x, y: CHART.height - 6, "text-anchor": "middle" }, clockText(at_s * 1000)));
  }
  return group;
}

function path(run, scale) {
  const points = run.map((point) => scale.x(point[0]).toFixed(1) + " " + scale.y(point[1]).toFixed(1));
  // A single sample is drawn as a short line.
  return "M" + points.join("L") + (points.length === 1 ? "h3" : "");
}

// Builds a figure with one chart. The frame is a slider, so screen readers can announce samples.
function chart(series, history, limit, now_s, range) {
  const points = pointsOf(history, series.column).filter((point) => point[0] > now_s - range.seconds);
  const runs = runsOf(points, history.interval_s);
  const known = points.filter((point) => point[1] !== null);
  const highest = Math.max(0, ...known.map((point) => point[1]));
  // A distant limit would flatten the line; the summary always states it.
  const isNear = limit !== null && 4 * highest >= limit;
  const most = isNear ? Math.max(limit, highest) : highest;
  const ticks = ticksOf(most, series.unit);
  const scale = scaleOf(now_s, range, ticks[ticks.length - 1] || 1);
  const svg = drawn("svg", { viewBox: "0 0 " + CHART.width + " " + CHART.height, "aria-hidden": "true", focusable: "false" });
  svg.append(axes(scale, ticks, series.unit, now_s, range));
  if (isNear) svg.append(drawn("line", { class: "limit", x1: CHART.left, x2: CHART.width - CHART.right, y1: scale.y(limit), y2: scale.y(limit) }));
  for (const run of runs) svg.append(drawn("path", { class: "line", d: path(run, scale) }));
  const cursor = drawn("line", { class: "cursor", y1: CHART.top, y2: CHART.height - CHART.bottom, x1: 0, x2: 0, visibility: "hidden" });
  const dot = drawn("circle", { class: "dot", r: 4, cx: 0, cy: 0, visibility: "hidden" });
  svg.append(cursor, dot);
  const summary = summaryOf(points, series, runs, history.interval_s) + (limit ? "; limit " + valueText(limit, series.unit) : "");
  const caption = element("figcaption");
  const shown = element("span", "note", summary);
  caption.append(element("h3", "", series.title), shown);
  const frame = element("div", "frame");
  const attributes = { role: "slider", tabindex: "0", "aria-label": series.title + ", " + range.title.toLowerCase() + ": " + summary + ". Arrow keys show single values.",
    "aria-valuemin": "0", "aria-valuemax": String(Math.max(0, known.length - 1)) };
  for (const name of Object.keys(attributes)) frame.setAttribute(name, attributes[name]);
  let at = known.length - 1;
  const describe = () => {
    frame.setAttribute("aria-valuenow", String(Math.max(0, at)));
    frame.setAttribute("aria-valuetext", known.length ? clockText(known[at][0] * 1000) + ": " + valueText(known[at][1], series.unit) : "no values yet");
  };
  const look = (index) => {
    if (!known.length) return;
    at = Math.max(0, Math.min(known.length - 1, index));
    const [at_s, value] = known[at];
    for (const name of ["x1", "x2"]) cursor.setAttribute(name, scale.x(at_s));
    dot.setAttribute("cx", scale.x(at_s));
    dot.setAttribute("cy", scale.y(value));
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "visible");
    shown.textContent = clockText(at_s * 1000) + ": " + valueText(value, series.unit);
    describe();
  };
  const leave = () => {
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "hidden");
    shown.textContent = summary;
  };
  frame.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at_s = now_s - range.seconds * (1 - ((event.clientX - box.left) / box.width * CHART.width - CHART.left) / (CHART.width - CHART.left - CHART.right));
    const distances = known.map((point) => Math.abs(point[0] - at_s));
    look(distances.indexOf(Math.min(...distances)));
  });
  frame.addEventListener("pointerleave", leave);
  frame.addEventListener("blur", leave);
  frame.addEventListener("keydown", (event) => {
    const page = Math.round(range.tick_s / history.interval_s);
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -known.length, End: known.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    look(at + steps[event.key]);
  });
  describe();
  frame.append(svg);
  return filled(element("figure", "chart"), [caption, frame]);
}

function limitOf(history, series) {
  const known = ((series.limit && pointsOf(history, series.limit)) || []).filter((point) => point[1]);
  return known.length ? known[known.length - 1][1] : null;
}

function showHistoryTable(table, parts, now_s, range) {
  const columns = parts.map(([series, points]) => rowsByStart(points.filter((point) => point[0] > now_s - range.seconds), series, range.row_s));
  const starts = Array.from(new Set(columns.flatMap((column) => Array.from(column.keys())))).sort((a, b) => b - a);
  const names = parts.map(([series]) => series.title + (series.unit === "per_second" ? ", mean" : series.isLowBad ? ", lowest" : ", highest"));
  fillTable(table, ["From", ...names], starts.map((start_s) => [clockText(start_s * 1000), "", ...columns.map((column, index) =>
    (column.has(start_s) ? valueText(column.get(start_s), parts[index][0].unit) : "–"))]));
}

const charted = { history: null, range: null };

function rangeButton([range]) {
  const button = element("button", "", range.label);
  button.type = "button";
  button.addEventListener("click", () => { charted.range = range; showHistory(charted.history); });
  return { node: button, refresh: ([, isShown]) => button.setAttribute("aria-pressed", String(isShown)) };
}

function showHistory(history) {
  const now_s = Date.now() / 1000;
  const range = charted.range || rangeOf(history.samples, now_s);
  charted.history = history;
  const parts = SERIES.map((series) => [series, pointsOf(history, series.column)]).filter((part) => part[1] && part[1].some((point) => point[1] !== null));
  const found = section("history", range.title, parts.length > 0);
  CHART.width = Math.max(280, Number(found.querySelector(".charts").clientWidth) || 720);
  keyed(found.querySelector(".ranges"), RANGES.map((each) => [each, each === range]), ([each]) => each.label, rangeButton);
  filled(found.querySelector(".charts"), parts.map(([series]) => chart(series, history, limitOf(history, series), now_s, range)));
  showHistoryTable(found.querySelector("table"), parts, now_s, range);
}
