// Shows page.json and the history, and refreshes them.

const REFRESH_MS = 2000;
const HISTORY_MS = 60000;
const PATIENCE_MS = 10000;
const MESSAGE_MS = 2000;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function filled(parent, children) {
  parent.replaceChildren(...children);
  return parent;
}

function setText(found, text) {
  if (found.textContent !== text) found.textContent = text;
}

function tableCell(tag, text, attribute, value) {
  const cell = element(tag, "", text);
  cell.setAttribute(attribute, value);
  return cell;
}

function timeElement(iso) {
  const made = element("time");
  const ms = Date.parse(iso);
  made.setAttribute("datetime", iso);
  made.title = stampText(ms);
  made.dataset.ms = String(ms);
  made.textContent = agoText((Date.now() - ms) / 1000);
  return made;
}

const rowsOf = new WeakMap();

// Reuses rows whose key remains, so that they keep focus, selection and open details.
function keyed(parent, items, keyOf, build) {
  const before = rowsOf.get(parent) || new Map();
  const after = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const row = before.get(key) || build(item);
    if (row.refresh) row.refresh(item);
    after.set(key, row);
  }
  const isSame = before.size === after.size && Array.from(before.keys()).every((key, at) => key === Array.from(after.keys())[at]);
  if (!isSame || !rowsOf.has(parent)) filled(parent, Array.from(after.values(), (row) => row.node));
  rowsOf.set(parent, after);
}

function track(parts, label) {
  const bar = element("div", "track");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", label);
  for (const [className, percent] of parts) {
    const part = element("i", className);
    part.style.width = percent + "%";
    bar.append(part);
  }
  return bar;
}

function chip(className, text, title) {
  const made = element("span", "chip " + className, text);
  if (title) made.title = title;
  return made;
}

function statCard(stat) {
  const value = element("div", "value", stat.isMeasuring ? "…" : valueText(stat.value, stat.unit));
  value.title = exactText(stat.value, stat.unit);
  const card = filled(element("div", "card"), [element("div", "name", stat.name), value]);
  if (stat.limit !== null && stat.value !== null) {
    const used = share(stat.value, stat.limit);
    card.append(track([["done", used]], stat.name + ": " + Math.round(used) + " percent"));
    const limit = element("div", "note", "of " + valueText(stat.limit, stat.unit));
    limit.title = exactText(stat.limit, stat.unit);
    card.append(limit);
  }
  if (stat.note) card.append(element("div", "note", stat.note));
  return card;
}

function progressRow(line, parts, text, title) {
  const [word, meaning] = PROGRESS_WORDS[line.state] || [line.state, ""];
  const bars = parts ? [track(parts, line.name + ": " + word + ", " + text)] : [];
  const note = element("span", "note", text);
  note.title = title;
  return filled(element("div", "bar"), [element("span", "name", line.name), chip(line.state, word, meaning), ...bars, note]);
}

function barRow(bar) {
  const parts = ["there", "read", "done"].map((name) => [name, share(bar[name], bar.size)]);
  const size = bar.unit ? valueText(bar.done, bar.unit) + " of " + valueText(bar.there, bar.unit) + " acknowledged" : "";
  const exact = [["acknowledged", bar.done], ["read", bar.read], ["readable", bar.there], ["in the file", bar.size]]
    .map(([name, value]) => exactText(value, bar.unit) + " " + name);
  return progressRow(bar, bar.size > 0 ? parts : null, [size, bar.note].filter(Boolean).join("; "), bar.unit ? exact.join(", ") : "");
}

// Fills a table. A row starts with its name and a note; narrow screens show `data-label` instead of column headers.
function fillTable(table, names, rows) {
  const body = rows.map(([name, note, ...texts]) => {
    const head = tableCell("th", name, "scope", "row");
    if (note) head.append(element("div", "note", note));
    return filled(element("tr"), [head, ...texts.map((text, at) => tableCell("td", text, "data-label", names[at + 1]))]);
  });
  const heads = filled(element("tr"), names.map((name) => tableCell("th", name, "scope", "col")));
  filled(table, [filled(element("thead"), [heads]), filled(element("tbody"), body)]);
}

function announce(text) {
  setText(document.getElementById("announcement"), text);
}

function copySelected(code) {
  // Without HTTPS, browsers offer the clipboard API only on localhost.
  const selection = window.getSelection();
  selection.selectAllChildren(code);
  return document.execCommand("copy");
}

async function copyCommand(code, button) {
  let isCopied = false;
  try {
    await navigator.clipboard.writeText(code.textContent);
    isCopied = true;
  } catch {
    isCopied = copySelected(code);
  }
  button.textContent = isCopied ? "Copied" : "Selected";
  announce(isCopied ? "The command is copied." : "The command is selected.");
  setTimeout(() => { button.textContent = "Copy"; }, MESSAGE_MS);
}

function commandRow(next) {
  const code = element("code", "", next.command);
  const button = element("button", "copy", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy the command: " + next.purpose);
  button.addEventListener("click", () => copyCommand(code, button));
  return filled(element("div", "command"), [element("span", "note", next.purpose), code, button]);
}

function quarantinedRow(item) {
  const title = filled(element("p"), [element("h3", "", item.name), element("span", "note", " " + item.content)]);
  if (item.noted_at) title.append(element("span", "note", ", first "), filled(element("span", "note"), [timeElement(item.noted_at)]));
  const causes = filled(element("ul", "causes"), item.causes.map((cause) => element("li", "", cause)));
  const parts = [title, ...(item.causes.length ? [causes] : []), ...item.commands.map(commandRow)];
  return { node: filled(element("li", "item"), parts) };
}

function showQuarantine(letters) {
  const found = section("kept", "", letters !== null);
  if (letters === null) return;
  // Undelivered changes are shown before the figures, an empty quarantine at the end.
  const next = letters.items.length ? document.getElementById("now") : null;
  if (found.nextElementSibling !== next) document.getElementById("main").insertBefore(found, next);
  const size = sizeText(letters.size_bytes) + " of " + sizeText(letters.limit_bytes);
  const usage = found.querySelector(".summary");
  setText(usage, letters.message + (letters.size_bytes ? " It uses " + size + "." : ""));
  found.querySelector(".usage").hidden = !letters.size_bytes;
  usage.title = exactText(letters.size_bytes, "bytes") + " of " + exactText(letters.limit_bytes, "bytes");
  filled(found.querySelector(".usage"), [track([["there", share(letters.size_bytes, letters.limit_bytes)]], "quarantine: " + size)]);
  keyed(found.querySelector(".items"), letters.items, (item) => JSON.stringify(item), quarantinedRow);
  const more = found.querySelector(".more");
  more.hidden = !letters.hidden;
  setText(more, letters.hidden + " more are not shown.");
  keyed(found.querySelector(".commands"), letters.commands, (next) => next.command, (next) => ({ node: commandRow(next) }));
  const words = Object.keys(letters.by_reason).map((reason) => reason.replace(/_/g, " ") + ": " + numberText(letters.by_reason[reason]));
  const reasons = found.querySelector(".reasons");
  reasons.hidden = !words.length;
  setText(reasons, "Since the start: " + words.join(", "));
}

function withCommands(className, text) {
  // Backquotes enclose commands.
  return filled(element("div", className), text.split("`").map((piece, at) =>
    at % 2 ? element("code", "", piece) : document.createTextNode(piece)));
}

function conditionRow(condition) {
  const message = element("span");
  const parts = [chip(condition.status, condition.status), " ", message, withCommands("remedy", condition.remedy)];
  const detail = element("code");
  if (condition.detail) parts.push(filled(element("details"), [element("summary", "", "Technical detail"), detail]));
  return {
    node: filled(element("li", "condition " + condition.status), parts),
    refresh: (now) => { setText(message, now.message); setText(detail, now.detail || ""); },
  };
}

function componentText(part) {
  if (part.status === "ok") return element("dd", "", part.message);
  const link = element("a", "", "see the causes");
  link.href = "#conditions";
  return filled(element("dd"), [link]);
}

function warningRow(line) {
  const row = filled(element("li", "warning-row"), [timeElement(line.time), chip(line.level, line.level), element("span", "", " " + line.message)]);
  if (line.fields) row.append(element("span", "note", line.fields));
  return { node: row };
}

function identityRow([name]) {
  const value = element("dd");
  const refresh = ([, text, title]) => { setText(value, text); value.title = title || ""; };
  return { node: filled(element("div"), [element("dt", "", name), value]), refresh };
}

const seen = { before: null, rate: null, history_ms: 0, isPaused: false, announced: "" };

function section(id, title, isThere) {
  const found = document.getElementById(id);
  found.hidden = !isThere;
  if (title) setText(found.querySelector("h2"), title);
  return found;
}

function showHeader(values) {
  document.title = titleOf(values);
  const who = values.instance || {};
  setText(document.getElementById("who"), [values.service_name, who.host || who.node_id].filter(Boolean).join(" on "));
  document.getElementById("sentence").className = values.state;
  setText(document.getElementById("state"), values.state);
  setText(document.getElementById("message"), values.message);
  keyed(document.getElementById("identity"), identityRows(values), ([name]) => name, identityRow);
  const notes = document.getElementById("notes");
  notes.hidden = !values.notes.length;
  filled(notes, values.notes.map((note) => element("li", "", note)));
  const announcement = announcementOf(values);
  if (announcement !== seen.announced) announce(announcement);
  seen.announced = announcement;
}

function show(values) {
  const at = { ms: Date.now(), total: totalOf(values.counts) };
  const rate = rateBetween(seen.before, at);
  if (rate !== null) seen.rate = rate;
  seen.before = at;
  showHeader(values);
  const conditions = section("conditions", "", values.conditions.length > 0);
  keyed(conditions.querySelector(".rows"), values.conditions, (each) => each.code + each.status + each.remedy + Boolean(each.detail), conditionRow);
  showQuarantine(values.dead_letters);
  const cards = values.stats.map(statCard);
  if (cards.length) cards.push(statCard({ name: "Events read", value: seen.rate, unit: "per_second", limit: null, note: "", isMeasuring: seen.rate === null }));
  section("now", "", cards.length > 0);
  filled(document.getElementById("figures"), cards);
  const bars = section("timeline", values.progress_title, values.progress.length > 0);
  bars.querySelector(".legend").hidden = !values.progress.some((bar) => bar.size > 0);
  filled(bars.querySelector(".rows"), values.progress.map(barRow));
  const snapshots = section("snapshots", "", values.snapshots.length > 0);
  filled(snapshots.querySelector(".rows"), values.snapshots.map((line) =>
    progressRow(line, line.share === null ? null : [["done", 100 * line.share]], snapshotText(line, at.ms), "")));
  const kinds = kindsOf(values.counts);
  const counts = section("counts", values.counts_title, values.counts.length > 0);
  fillTable(counts.querySelector("table"), ["Name", ...kinds, "all"], values.counts.map((each) =>
    [each.name, each.topic && "topic " + each.topic, ...kinds.map((kind) => numberText(each.by_kind[kind] || 0)), numberText(totalOf([each]))]));
  const parts = section("components", "", values.components.length > 0);
  filled(parts.querySelector("dl"), values.components.flatMap((part) => [
    filled(element("dt"), [element("span", "", part.name), chip(part.status, part.status)]), componentText(part)]));
  const trouble = section("trouble", "", values.warnings.length > 0);
  keyed(trouble.querySelector(".rows"), values.warnings.map((line, index) => [JSON.stringify(line) + index, line]), ([key]) => key, ([, line]) => warningRow(line));
  setText(document.getElementById("version"), values.service_name + " " + values.version);
  const updated = document.getElementById("updated");
  updated.title = stampText(Date.parse(values.at));
  setText(updated, "Updated " + updated.title.slice(11) + " (times in " + zoneText() + ")");
  for (const time of document.querySelectorAll("time[data-ms]")) setText(time, agoText((Date.now() - Number(time.dataset.ms)) / 1000));
}

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error("HTTP " + answer.status);
  return answer.json();
}

async function showConfiguration(event) {
  if (!event.target.open) return;
  const properties = await ask("configuration").catch((error) => [{ name: "The agent does not answer", value: error.message, origin: "" }]);
  fillTable(event.target.querySelector("table"), ["Property", "Value", "Origin"], properties.map((each) => [each.name, "", each.value, each.origin]));
}

async function refreshHistory() {
  if (Date.now() - seen.history_ms < HISTORY_MS) return;
  seen.history_ms = Date.now();
  let history;
  try {
    history = await ask("history");
  } catch {
    // The page already shows whether the agent answers; the next attempt loads the charts.
    seen.history_ms = 0;
    return;
  }
  // A focused chart is not replaced.
  if (!document.querySelector(".charts").contains(document.activeElement)) showHistory(history);
  // A new agent has no samples for some seconds.
  if (document.getElementById("history").hidden) seen.history_ms = 0;
}

async function refresh() {
  const unreachable = document.getElementById("unreachable");
  try {
    const values = await ask("page.json");
    show(values);
    unreachable.hidden = true;
    await refreshHistory();
  } catch (error) {
    if (unreachable.hidden) announce("The agent does not answer.");
    seen.announced = "";
    document.title = "No answer – cdc-sidecar";
    unreachable.textContent = "The agent does not answer (" + error.message + "). The page shows its last answer.";
    unreachable.hidden = false;
  }
}

async function follow() {
  if (!document.hidden && !seen.isPaused) await refresh();
  setTimeout(follow, REFRESH_MS);
}

function togglePause() {
  seen.isPaused = !seen.isPaused;
  const button = document.getElementById("pause");
  button.setAttribute("aria-pressed", String(seen.isPaused));
  if (!seen.isPaused) refresh();
}

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !seen.isPaused) refresh(); });
  document.getElementById("pause").addEventListener("click", togglePause);
  document.querySelector("#configuration details").addEventListener("toggle", showConfiguration);
  follow();
}
