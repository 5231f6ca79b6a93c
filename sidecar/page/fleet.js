// Shows fleet.json, and asks for it again.

const REFRESH_MS = 5000;
const LOADING_MS = 1000;
const PATIENCE_MS = 10000;
const UNKNOWN = "–";

const AGENT_WORDS = { ok: "Healthy", degraded: "Needs attention", failing: "Not delivering",
  unreachable: "No answer" };
const FLEET_WORDS = { ok: "All agents are healthy", degraded: "Agents need attention",
  failing: "Agents do not deliver", unreachable: "Agents do not answer" };
const LATE_S = 60;
const SOON_S = 7200;
const COLUMNS = ["Node", "State", "Lag", "cdc_raw used", "Full in", "Quarantine", "Snapshot",
  "Version", "Configuration", "Cause"];
const NUMBERS = [2, 3, 4, 5];

function known(value, text) {
  return value === null || value === undefined ? UNKNOWN : text(value);
}

function placeOf(agent) {
  return [agent.cluster, agent.datacenter, agent.rack, agent.host].filter(Boolean).join(" / ") || agent.target;
}

function causeOf(agent) {
  if (agent.conditions.length) return agent.conditions.map((code) => code.replace(/_/g, " ")).join(", ");
  return agent.state === "ok" ? "" : agent.message;
}

// The text of each column.
function cellsOf(agent) {
  const used = agent.cdc_raw_limit_bytes ? Math.round(share(agent.cdc_raw_bytes, agent.cdc_raw_limit_bytes)) + " %" : UNKNOWN;
  return [placeOf(agent), AGENT_WORDS[agent.state] || agent.state, known(agent.lag_s, secondsText), used,
    known(agent.cdc_raw_time_to_full_s, secondsText), known(agent.quarantined, numberText),
    agent.snapshot || UNKNOWN, agent.version || UNKNOWN, agent.configuration_fingerprint || UNKNOWN,
    causeOf(agent)];
}

function matches(agent, wanted) {
  const text = [...cellsOf(agent), agent.target, agent.node_id, agent.topic_prefix].join(" ").toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

// Columns whose value needs attention.
function notableColumns(agent, rare) {
  const found = [];
  if (agent.lag_s > LATE_S) found.push(2);
  if (agent.cdc_raw_time_to_full_s !== null && agent.cdc_raw_time_to_full_s < SOON_S) found.push(4);
  if (agent.quarantined > 0) found.push(5);
  if (rare.has(agent.version)) found.push(7);
  if (rare.has(agent.configuration_fingerprint)) found.push(8);
  return found;
}

// Values that most agents do not have.
function rareValues(differences) {
  const rare = new Set();
  for (const each of differences) for (const value of Object.keys(each.counts).slice(1)) rare.add(value);
  return rare;
}

function worstOf(agents) {
  return agents.length ? agents[0].state : "ok";
}

function differenceText(each) {
  const values = Object.entries(each.counts).map(([value, count]) => value + " (" + count + ")");
  return each.what + " differ: " + values.join(", ") + ".";
}

function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function put(id, text) {
  const found = document.getElementById(id);
  if (found.textContent !== text) found.textContent = text;
}

function nodeCell(agent, text) {
  const cell = make("th");
  cell.setAttribute("scope", "row");
  if (!/^https?:\/\//.test(agent.url)) return Object.assign(cell, { textContent: text });
  const link = make("a", "", text);
  link.href = agent.url + "/";
  link.rel = "noreferrer";
  link.title = agent.target;
  cell.append(link);
  return cell;
}

function agentRow(agent, rare) {
  const row = make("tr");
  const notable = notableColumns(agent, rare);
  const cells = cellsOf(agent).map((text, column) => {
    if (column === 0) return nodeCell(agent, text);
    const cell = make("td", NUMBERS.includes(column) ? "number" : "");
    if (column === 1) cell.append(make("span", "chip " + agent.state, text));
    else cell.textContent = text;
    if (notable.includes(column)) cell.classList.add("notable");
    if (column === 9) cell.title = agent.message;
    return cell;
  });
  row.append(...cells);
  return row;
}

const last = { values: null, announced: "", isPaused: false };

function showAgents() {
  if (!last.values || !last.values.summary) return;
  const { agents, summary } = last.values;
  const wanted = document.getElementById("filter").value.trim();
  const found = agents.filter((agent) => matches(agent, wanted));
  const rare = rareValues(summary.differences);
  // The table stays as it is while one of its links has the focus.
  const body = document.querySelector("tbody");
  if (!body.contains(document.activeElement)) body.replaceChildren(...found.map((agent) => agentRow(agent, rare)));
  put("shown", wanted ? found.length + " of " + agents.length + " agents" : "");
}

function show(values) {
  last.values = values;
  const problem = document.getElementById("unreachable");
  problem.hidden = !values.error;
  put("unreachable", values.error);
  if (!values.summary) return;
  const worst = worstOf(values.agents);
  document.getElementById("sentence").className = worst;
  put("state", FLEET_WORDS[worst] || worst);
  put("message", values.summary.text.split(". ")[0].replace(/\.?$/, "."));
  document.title = (FLEET_WORDS[worst] || worst) + " – cdc-sidecar";
  const differences = document.getElementById("differences");
  differences.hidden = !values.summary.differences.length;
  differences.replaceChildren(...values.summary.differences.map((each) => make("li", "", differenceText(each))));
  const announcement = Object.keys(AGENT_WORDS).map((state) => values.summary[state] + " " + state).join(", ");
  if (announcement !== last.announced) put("announcement", announcement);
  last.announced = announcement;
  showAgents();
  put("updated", "Updated " + new Date(values.at).toLocaleTimeString());
}

async function refresh() {
  try {
    const answer = await fetch("fleet.json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error("HTTP " + answer.status);
    show(await answer.json());
  } catch (error) {
    const problem = document.getElementById("unreachable");
    problem.textContent = "This agent does not answer (" + error.message + "). The page shows its last answer.";
    problem.hidden = false;
  }
}

async function follow() {
  if (!document.hidden && !last.isPaused) await refresh();
  setTimeout(follow, last.values && !last.values.is_loading ? REFRESH_MS : LOADING_MS);
}

function togglePause() {
  last.isPaused = !last.isPaused;
  document.getElementById("pause").setAttribute("aria-pressed", String(last.isPaused));
  if (!last.isPaused) refresh();
}

if (typeof document !== "undefined") {
  const row = make("tr");
  row.append(...COLUMNS.map((text) => {
    const cell = make("th", "", text);
    cell.setAttribute("scope", "col");
    return cell;
  }));
  document.querySelector("thead").append(row);
  document.getElementById("filter").addEventListener("input", showAgents);
  document.getElementById("pause").addEventListener("click", togglePause);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !last.isPaused) refresh(); });
  follow();
}
