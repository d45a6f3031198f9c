// Sends every instance of a wire on its ways: a streamed answer and a whole one to events, from there to the next
// request, a history to a request of the same vendor and of the others, parameters and response headers.
import { each } from './each.mjs';
import { Engine } from './engine.mjs';
import {
  instancesOf,
  Markers,
  markersIn,
  otherValue,
  valueAt,
  valuesOf,
  withValue,
} from './instances.mjs';
import { Ends, judgeBack, judgeEvents, judgePath, judgeValues, names, notesOf } from './judge.mjs';
import { hasRow, readModel } from './model.mjs';
import { joinedTexts, placesOf } from './places.mjs';

// A medium that the other vendor does not take, by its place in the messages.
function namesPlace({ rejected, message }) {
  const place =
    /\(messages\[\d+\]\.content\[\d+\], (image|audio|video|document) by (value|address|id)\)/;
  return rejected === 'capability_not_supported' && place.test(message);
}

// Notes that name more than one member: `[the note, the rows that it is about]`. State is noted once a request.
const noted = [
  [/does not read what other providers made/, /./],
  [
    /Tools that another provider ran are sent as text/,
    /:(\w+_call|\w+_tool_use|\w+_tool_result|mcp_\w+|tool_search_\w+|server_tool_use|executableCode|toolCall|toolResponse|toolUse|toolResult)\b.*\b(id|\w+_id|\w+Id|encrypted_\w+|partMetadata|size|svg_usage\.\w+|bucketOwner|type|code|citations\[\]\S*|document\.(name|context))$/,
  ],
  [/ids of calls|calls beside tools only/, /(id|Id)$/],
  [/(Reasoning|Thoughts) of earlier turns/, /thinking|thought|reasoning/i],
  [/names of files/, /name$/i],
  [/name of a message|have no names/, /name$/],
  [/The result of tool call/, /tool|function|_output|Result/],
];

function notedOf(notes, row) {
  return noted.some(([note, rows]) => rows.test(row) && notes.some((text) => note.test(text)));
}

/**
 * Everything that one wire goes through. `drops` are rows whose member the engine does not get: `gone`, or `other` where
 * it gets another value.
 */
export class Ways {
  refusals = [];
  sdkOnly = new Set();
  optional = new Set();
  marked = new Set();
  shown = new Set();
  others = new Map();
  counts = { instances: 0, answers: 0, read: 0 };

  constructor(wire, vendor, { drops = new Map(), sdk = true } = {}) {
    this.wire = wire;
    this.ends = new Ends(wire.best);
    this.vendor = vendor;
    this.drops = drops;
    this.checksSdk = sdk;
    this.engine = new Engine(vendor, wire);
    this.markers = new Markers();
    wire.nodes ??= readModel(wire.types, wire.leaves);
  }

  rulesOf(subject) {
    const merged = { ...this.wire.rules };
    for (const [name, more] of Object.entries(subject.rules ?? {})) {
      merged[name] = Array.isArray(more) ? [...more, ...(merged[name] ?? [])] : more;
    }
    return merged;
  }

  instances(subject) {
    const node = this.wire.nodes[subject.type];
    const made = this.make(node, subject.root, this.rulesOf(subject));
    this.counts.instances += made.length;
    return made.filter(({ leaves }) => this.concerns(leaves));
  }

  /** Instances of a type; remembers which of their members need not be there. */
  make(node, root, rules) {
    const made = instancesOf(node, root, rules, this.markers);
    for (const { leaves } of made) {
      for (const { row, optional, marker } of leaves) {
        if (optional) this.optional.add(row);
        if (marker) this.marked.add(row);
      }
    }
    return made;
  }

  // In a self-test only what has a member that is dropped is sent.
  concerns(leaves) {
    return this.drops.size === 0 || leaves.some(({ row }) => this.drops.has(row));
  }

  // Whether the values of a leaf are still to be sent; each leaf once.
  valued(leaf, judged) {
    if (leaf.values === undefined || judged.has(leaf.row)) return false;
    judged.add(leaf.row);
    return this.drops.size === 0 || this.drops.has(leaf.row);
  }

  // The instance as the engine gets it.
  dropped({ value, leaves }) {
    const gone = leaves.filter(({ row, path }) => {
      return this.drops.has(row) && valueAt(value, path) !== undefined;
    });
    return gone.reduce((rest, { row, path, marker }) => {
      const isOther = this.drops.get(row) === 'other';
      const other = isOther
        ? otherValue(valueAt(rest, path), marker, this.otherOf(marker))
        : undefined;
      return withValue(rest, path, other);
    }, value);
  }

  // The same one each time.
  otherOf({ text }) {
    if (!this.others.has(text)) this.others.set(text, this.markers.next());
    return this.others.get(text);
  }

  async subjects() {
    for (const subject of this.wire.subjects) {
      const judged = new Set();
      await each(this.instances(subject), (instance) => this.answers(subject, instance, judged));
    }
  }

  async answers(subject, instance, judged) {
    const { leaves, value } = instance;
    if (!(await this.readBySdk(subject, instance))) return;
    const given = this.dropped(instance);
    const outcomes = await this.read(subject, given);
    for (const [way, outcome] of Object.entries(outcomes)) {
      judgeEvents(this.ends, way, leaves, outcome, this.wire.carriers);
      if (subject.back) await this.back(way, leaves, value, outcome);
    }
    for (const leaf of leaves) {
      if (this.valued(leaf, judged)) await this.values(subject, instance, leaf);
    }
  }

  async read(subject, value) {
    this.counts.answers += 1;
    const whole = subject.place(value);
    const { wire } = this;
    const outcomes = {};
    if (!subject.wholeOnly)
      outcomes.stream = await this.engine.read(wire.bytes(wire.records(whole)));
    if (!subject.streamOnly && wire.answer) {
      outcomes.answer = await this.engine.read(wire.answer(whole), { stream: false });
    }
    return outcomes;
  }

  async back(way, leaves, value, outcome) {
    const { request, report } = await this.engine.next(outcome);
    const sent = this.wire.turn(request ?? {});
    judgeBack(this.ends, `next of ${way}`, this.sentBack(leaves), value, sent, report);
    return { sent, report };
  }

  // Leaves that an input of the vendor has, too.
  sentBack(leaves) {
    const node = this.wire.nodes[this.wire.input ?? [this.wire.history].flat()[0]?.type];
    return node ? leaves.filter(({ row }) => hasRow(node, row, this.wire.rules)) : leaves;
  }

  // A member that is absent has the value that the vendor documents for it.
  withDefault(leaf) {
    const [, value] = this.wire.defaults?.find(([pattern]) => pattern.test(leaf.row)) ?? [];
    return value === undefined ? leaf : { ...leaf, optional: false, absent: value };
  }

  // Each value of a leaf, and its absence.
  async values(subject, instance, leaf) {
    const all = valuesOf(this.withDefault(leaf));
    if (all.length < 2) return;
    const seen = { stream: new Map(), answer: new Map() };
    for (const one of all) {
      const value = withValue(instance.value, leaf.path, one);
      const changed = { ...instance, value };
      if (!(await this.readBySdk(subject, changed))) continue;
      const outcomes = await this.read(subject, this.dropped(changed));
      for (const [way, outcome] of Object.entries(outcomes)) {
        seen[way].set(`${one}`, outcome);
        if (subject.back) await this.backValue(way, leaf, value, outcome);
      }
    }
    for (const [way, outcomes] of Object.entries(seen)) {
      if (outcomes.size > 0) judgeValues(this.ends, way, leaf.row, outcomes);
    }
  }

  async backValue(way, leaf, value, outcome) {
    if (this.sentBack([leaf]).length === 0) return;
    const { request, report } = await this.engine.next(outcome);
    const sent = this.wire.turn(request ?? {});
    judgePath(this.ends, `next of ${way}`, this.withDefault(leaf), value, sent, report);
  }

  // True when the SDK's own client takes what was made, and sees each marker in it.
  async readBySdk(subject, { value, leaves }) {
    const { wire } = this;
    const whole = subject.place(value);
    const label = `${subject.root} ${value?.type ?? ''}`;
    if (
      !subject.wholeOnly &&
      !(await this.offer('stream', wire.bytes(wire.records(whole)), leaves, label))
    ) {
      return false;
    }
    if (subject.streamOnly || !wire.answer) return true;
    return this.offer('answer', wire.answer(whole), leaves, label);
  }

  async offer(way, answer, leaves, label) {
    if (!this.checksSdk) return true;
    const line = this.vendor.open([answer]);
    try {
      const read = way === 'stream' ? this.wire.readStream : this.wire.readAnswer;
      this.seen(leaves, await read(line.url));
      this.counts.read += 1;
      return true;
    } catch (error) {
      this.refusals.push(`${way} ${label.trim()}: ${error.message}`);
      return false;
    } finally {
      line.close();
    }
  }

  seen(leaves, final) {
    const places = placesOf(
      { events: [], report: { final, texts: joinedTexts(final).map(([, text]) => text) } },
      markersIn,
    );
    for (const { row, marker } of leaves) {
      if (marker && !places.has(marker.text) && !places.has(marker.number)) this.sdkOnly.add(row);
    }
  }

  async history() {
    const judged = new Set();
    for (const history of [this.wire.history ?? []].flat()) {
      await each(this.instances(history), (instance) => this.historyOf(history, instance, judged));
    }
  }

  async historyOf(history, instance, judged) {
    const { leaves, value } = instance;
    const { sent, report } = await this.sentHistory(history, instance);
    judgeBack(this.ends, 'history', leaves, value, sent, report);
    for (const leaf of leaves) {
      if (this.valued(leaf, judged)) await this.historyValues(history, instance, leaf);
    }
  }

  async sentHistory(history, instance) {
    const { request, report } = await this.requestOf(history, history.wrap(this.dropped(instance)));
    return { sent: request === undefined ? [] : history.turn(request), report };
  }

  // A history as its vendor gets it.
  requestOf({ called }, data) {
    return called
      ? this.engine.call([this.wire.plain], { messages: data })
      : this.engine.history(this.wire.format, data);
  }

  async historyValues(history, instance, leaf) {
    for (const one of valuesOf(leaf)) {
      const value = withValue(instance.value, leaf.path, one);
      const { sent, report } = await this.sentHistory(history, { ...instance, value });
      judgePath(this.ends, 'history', this.withDefault(leaf), value, sent, report);
    }
  }

  // The words of a history in the requests of the other vendors.
  async into(others) {
    const lost = new Map();
    for (const history of [this.wire.history ?? []].flat()) {
      await each(this.instances(history), async ({ value, leaves }) => {
        for (const other of others) {
          const { request, report } = await this.engine.into(
            other,
            this.wire.format,
            history.wrap(this.dropped({ value, leaves })),
          );
          this.judgeInto(lost, other, leaves, request, report);
        }
      });
    }
    for (const [row, { named, gone }] of lost) {
      const list = (vendors) => [...vendors].sort().join(', ');
      if (gone.size > 0) this.ends.add('into others', row, 'lost', list(gone));
      else if (named.size > 0) this.ends.add('into others', row, 'named', list(named));
      else this.ends.add('into others', row, 'carried');
    }
  }

  judgeInto(lost, other, leaves, request, report) {
    const places = placesOf({ events: [], report: { request } }, markersIn);
    // A rejection names the place of what it is for: the message goes nowhere.
    const isRejected = report.rejected && namesPlace(report);
    const notes = notesOf({ report });
    for (const { row, marker } of leaves) {
      if (!marker) continue;
      if (!lost.has(row)) lost.set(row, { named: new Set(), gone: new Set() });
      if (places.has(marker.text) || places.has(marker.number)) continue;
      const isNamed = isRejected || names(notes, row) || notedOf(notes, row);
      lost.get(row)[isNamed ? 'named' : 'gone'].add(other.name);
    }
  }
}
