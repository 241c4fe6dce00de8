// What was counted, as samples over time, and what that makes per second.

const KEYS = {
  payloads: "payloads",
  rows: "rows_shipped",
  bytes_in: "payload_bytes",
  bytes_saved: "saved_bytes",
  bad: "bad",
};

function summed(read) {
  const sum = (key) => read.reduce((total, counts) => total + (counts[key] ?? 0), 0);
  const counted = Object.entries(KEYS).map(([ours, theirs]) => [ours, sum(theirs)]);
  return { time: Date.now() / 1000, ...Object.fromEntries(counted) };
}

// The counts of a pipeline as a sample, like those of the service's history.
export function sampleOf(stats) {
  const lag = {};
  for (const by of Object.values(stats.lag))
    for (const [unit, n] of Object.entries(by)) lag[unit] = (lag[unit] ?? 0) + n;
  for (const shared of Object.values(stats.shared)) lag.entries = (lag.entries ?? 0) + shared.lag;
  return { ...summed(Object.values(stats.read)), lag, batch_seconds: stats.batch_seconds };
}

// The counts of everything. A shared stream is read once, by its ingest, for all its pipelines.
export function sampleOfAll(pipelines, shared) {
  const read = pipelines.flatMap(({ stats }) => Object.entries(stats?.read ?? {}));
  const alone = read.filter(([source]) => !shared.some(({ name }) => name === source));
  const ingested = shared.map(({ counts }) => ({
    ...counts,
    saved_bytes: Math.max(0, (counts.payload_bytes ?? 0) - (counts.segment_bytes ?? 0)),
  }));
  return summed([...alone.map(([, counts]) => counts), ...ingested]);
}

// Adds a sample; forgets those of more than half an hour ago.
export function remember(samples, sample) {
  const last = samples.at(-1);
  if (last && sample.time - last.time < 0.5) samples.pop();
  samples.push(sample);
  while (samples.length && samples[0].time < sample.time - 1800) samples.shift();
}

// Points (time, per second) of a count that grows. A count that shrinks has begun anew.
export function rates(samples, key) {
  const points = [];
  for (let n = 1; n < samples.length; n += 1) {
    const spent = samples[n].time - samples[n - 1].time;
    const grown = samples[n][key] - samples[n - 1][key];
    if (spent > 0) points.push([samples[n].time, Math.max(0, grown) / spent]);
  }
  return points;
}

// How many per second lately: over the last ten seconds, so that it does not flicker.
export function rate(samples, key) {
  const last = samples.at(-1);
  const first = samples.find((sample) => sample.time >= (last?.time ?? 0) - 10);
  if (!last || first === last) return null;
  return Math.max(0, last[key] - first[key]) / (last.time - first.time);
}
