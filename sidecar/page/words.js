"use strict";
// Formats values as text, in the same form as the agent's messages (sidecar/quantities.py).

// Short word and explanation for the states of segments, streams and snapshots.
const PROGRESS_WORDS = {
  empty: ["no changes", "the node has synced no changes to it yet"],
  unread: ["unread", "the agent has not started to read it"],
  partly_read: ["partly read", "the agent has not read all of it yet"],
  unacknowledged: ["unacknowledged", "all of it is read, but not yet acknowledged"],
  idle: ["up to date", "everything synced is acknowledged; more will follow"],
  blocked: ["blocked", "the next record cannot be read now"],
  waiting: ["waiting", "nothing is read yet"],
  reading: ["reading", "the stream is open"],
  closed: ["closed", "the stream is not open"],
  drained: ["delivered", "every event is acknowledged"],
  vanished: ["vanished", "the file disappeared before it was read"],
  copying: ["copying", "the snapshot is running"],
  stopped: ["stopped", "stopped by an operator"],
  refused: ["rejected", "the server rejects the filter"],
};

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes, unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return (unit && (size < 100 || unit === 4) ? size.toFixed(1) : String(Math.round(size))) + " " + units[unit];
}

function secondsText(seconds) {
  if (Math.round(seconds) < 120) return (seconds >= 10 || Number.isInteger(seconds) ? seconds.toFixed(0) : seconds.toFixed(1)) + " s";
  if (seconds < 3600) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return (seconds / 3600).toFixed(1) + " h";
  return Math.round(seconds / 86400) + " days";
}

function numberText(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function rateText(perSecond) {
  return (perSecond < 10 ? String(Math.round(10 * perSecond) / 10) : numberText(perSecond)) + "/s";
}

function valueText(value, unit) {
  if (value === null || value === undefined) return "not known";
  if (unit === "bytes") return sizeText(value);
  if (unit === "seconds") return secondsText(value);
  if (unit === "per_second") return rateText(value);
  return numberText(value);
}

// Formats a value with all digits, for a tooltip.
function exactText(value, unit) {
  if (value === null || value === undefined) return "not known";
  const names = { bytes: " bytes", seconds: " seconds", per_second: " events a second", events: " events" };
  const [whole, part] = String(value).split(".");
  return [numberText(whole), part].filter(Boolean).join(".") + (names[unit] || "");
}

function agoText(seconds) {
  if (seconds < 5) return "just now";
  return secondsText(Math.round(seconds)) + " ago";
}

// Formats a time of the browser's zone as 2026-01-31 17:05:29.
function stampText(ms) {
  const local = new Date(ms - 60000 * new Date(ms).getTimezoneOffset());
  return local.toISOString().slice(0, 19).replace("T", " ");
}

function clockText(ms) {
  return stampText(ms).slice(11, 16);
}

function zoneText() {
  const minutes = -new Date().getTimezoneOffset();
  const text = new Date(60000 * Math.abs(minutes)).toISOString().slice(11, 16);
  return "UTC" + (minutes ? (minutes < 0 ? "-" : "+") + text : "");
}

function share(part, whole) {
  return whole > 0 ? Math.max(0, Math.min(100, 100 * part / whole)) : 0;
}

function totalOf(counts) {
  let total = 0;
  for (const each of counts) for (const kind of Object.keys(each.by_kind)) total += each.by_kind[kind];
  return total;
}

function rateBetween(before, after) {
  if (!before || after.ms <= before.ms || after.total < before.total) return null;
  return (after.total - before.total) / ((after.ms - before.ms) / 1000);
}

const MEASURED_MS = 60000;
const snapshotsSeen = new Map();

// Returns progress of a snapshot in words; rate and time left follow from the last minute.
function snapshotText(line, now_ms) {
  const past = (snapshotsSeen.get(line.name) || []).filter((each) => now_ms - each.ms <= MEASURED_MS && each.rows <= line.rows);
  snapshotsSeen.set(line.name, [...past, { ms: now_ms, rows: line.rows, share: line.share }]);
  const total = line.total === null ? "" : " of about " + numberText(line.total);
  const texts = [numberText(line.rows) + total + " " + line.noun];
  if (line.share !== null) texts.unshift((100 * line.share).toFixed(line.share < 1 ? 1 : 0) + "%");
  if (line.state === "copying" && past.length && now_ms > past[0].ms) {
    const seconds = (now_ms - past[0].ms) / 1000;
    const gained = line.share === null ? 0 : line.share - past[0].share;
    texts.push(rateText((line.rows - past[0].rows) / seconds));
    if (gained > 0) texts.push("about " + secondsText(Math.round((1 - line.share) * seconds / gained)) + " left");
  }
  return [...texts, line.note].filter(Boolean).join(", ");
}

function kindsOf(counts) {
  const kinds = new Set();
  for (const each of counts) for (const kind of Object.keys(each.by_kind)) kinds.add(kind);
  return Array.from(kinds).sort();
}

// Returns name, value and explanation of each known part of the identity.
function identityRows(values) {
  const who = values.instance || {};
  const place = [who.datacenter, who.rack].filter(Boolean).join(" / ");
  const rows = [["Cluster", who.cluster], ["Node", who.node_id], ["Host", who.host],
    ["Datacentre / rack", place], ["Topic prefix", who.topic_prefix],
    ["Destination", values.destination], ["Version", values.version]];
  const since_ms = Date.parse(values.at) - 1000 * values.uptime_s;
  if (typeof values.uptime_s === "number") rows.push(["Up for", secondsText(Math.round(values.uptime_s)), "since " + stampText(since_ms)]);
  return rows.filter((row) => row[1]);
}

function titleOf(values) {
  const who = values.instance || {};
  const names = [who.cluster, who.host || who.node_id].filter(Boolean).join(" · ");
  return values.state + " – " + (names || values.service_name);
}

// Text for screen readers: it changes with the state or the causes, never with a number.
function announcementOf(values) {
  const codes = values.conditions.map((each) => each.code.replace(/_/g, " "));
  const causes = codes.length ? ". Causes: " + codes.join(", ") : "";
  return "State: " + values.state + causes + ".";
}
