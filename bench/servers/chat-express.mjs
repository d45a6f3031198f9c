// What a careful person writes by hand: Express and node:sqlite, jobs with the same log. Rows wait for at most 10 ms for their
// commit, which reaches the disk, and readers get an event when it is stored. No limits, no keys, no recovery.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StringDecoder } from 'node:string_decoder';

import express from 'express';

import { serving } from '../support/chat-server.mjs';

const { provider, folder } = JSON.parse(process.argv[2]);
const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
const database = new DatabaseSync(join(folder, 'chat.db'));
database.exec(`
  PRAGMA journal_mode=WAL;
  PRAGMA synchronous=FULL;
  CREATE TABLE conversations(id TEXT PRIMARY KEY, title TEXT, created INTEGER);
  CREATE TABLE messages(n INTEGER PRIMARY KEY, conversation TEXT, role TEXT, content TEXT);
  CREATE INDEX messages_of ON messages(conversation, n);
  CREATE TABLE jobs(id TEXT PRIMARY KEY, conversation TEXT, status TEXT);
  CREATE TABLE events(job TEXT, seq INTEGER, place INTEGER, name TEXT, payload TEXT,
    PRIMARY KEY (job, seq, place)) WITHOUT ROWID;
`);
const sql = {
  conversation: database.prepare('INSERT INTO conversations VALUES (?, ?, ?)'),
  history: database.prepare('SELECT role, content FROM messages WHERE conversation=? ORDER BY n'),
  message: database.prepare('INSERT INTO messages(conversation, role, content) VALUES (?, ?, ?)'),
  job: database.prepare('INSERT INTO jobs VALUES (?, ?, ?)'),
  end: database.prepare('UPDATE jobs SET status=? WHERE id=?'),
  event: database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)'),
  log: database.prepare('SELECT * FROM events WHERE job=? ORDER BY seq, place'),
};

// What waits for the next commit: rows, and what follows when they are stored.
const writes = { rows: [], then: [], timer: undefined };
function store(row, then) {
  writes.rows.push(row);
  if (then) writes.then.push(then);
  writes.timer ??= setTimeout(commit, 10);
}
function commit() {
  const { rows, then } = writes;
  for (const job of jobs.values()) job.flush(rows, then);
  Object.assign(writes, { rows: [], then: [], timer: undefined });
  database.exec('BEGIN');
  for (const [name, ...values] of rows) sql[name].run(...values);
  database.exec('COMMIT');
  for (const next of then) next();
}
const stored = (row) => new Promise((resolve) => store(row, resolve));

const frameOf = ({ seq, place, name, payload }) =>
  `id: ${place ? `${seq}.${place}` : seq}\nevent: ${name}\ndata: ${payload}\n\n`;

const jobs = new Map();
class Job {
  constructor(conversation) {
    this.id = randomUUID();
    this.conversation = conversation;
    [this.seq, this.place, this.pieces, this.text] = [0, 0, '', ''];
    this.readers = new Set();
    jobs.set(this.id, this);
  }
  emit(name, payload, isLast = false) {
    this.takePieces();
    [this.seq, this.place] = [this.seq + 1, 0];
    this.add({ seq: this.seq, place: 0, name, payload: JSON.stringify(payload) }, isLast);
  }
  add(event, isLast = false) {
    const row = ['event', this.id, event.seq, event.place, event.name, event.payload];
    store(row, () => this.show(event, isLast));
  }
  show(event, isLast) {
    for (const response of this.readers) {
      response.write(frameOf(event));
      if (isLast) response.end();
    }
    if (isLast) jobs.delete(this.id);
  }
  // Pieces that wait for the same commit are one row.
  piece(text) {
    this.text += text;
    this.pieces += text;
    writes.timer ??= setTimeout(commit, 10);
  }
  takePieces() {
    if (this.pieces === '') return;
    this.place += 1;
    const payload = JSON.stringify({ delta: this.pieces });
    this.pieces = '';
    this.add({ seq: this.seq, place: this.place, name: 'message_delta', payload });
  }
  flush(rows, then) {
    if (this.pieces === '') return;
    const before = writes.rows;
    this.takePieces();
    if (writes.rows !== before || writes.rows !== rows || writes.then !== then) {
      throw new Error('a commit began within a commit');
    }
  }
  end(status, payload) {
    store(['message', this.conversation, 'assistant', this.text]);
    store(['end', status, this.id]);
    this.emit('message', { content: this.text });
    this.emit(status, payload, true);
  }
}

function run(job, messages) {
  const body = JSON.stringify({ model: 'example', stream: true, messages });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = http.request(`${provider}/chat/completions`, { method: 'POST', agent, headers });
  const fail = (error) => job.end('error', { error: error.message });
  request.on('error', fail);
  request.on('response', (response) => {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    response.on('data', (bytes) => {
      const lines = (rest + decoder.write(bytes)).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: {')) continue;
        const text = JSON.parse(line.slice(6)).choices[0]?.delta.content;
        if (text) job.piece(text);
      }
    });
    response.on('error', fail);
    response.on('end', () => job.end('done', { reply: job.text }));
  });
  request.end(body);
}

const app = express();
app.use(express.json());
const root = '/api/v1/chat';
app.post(`${root}/conversations`, async (request, response) => {
  const id = randomUUID();
  await stored(['conversation', id, request.body.title, Date.now()]);
  response.status(201).json({ conversation: { id } });
});
app.post(`${root}/jobs`, async (request, response) => {
  const { message, conversation_id: conversation } = request.body;
  const messages = [...sql.history.all(conversation), { role: 'user', content: message }];
  const job = new Job(conversation);
  store(['job', job.id, conversation, 'running']);
  job.emit('meta', { job_id: job.id, conversation_id: conversation });
  job.emit('stage', { stage: 'waiting_model' });
  await stored(['message', conversation, 'user', message]);
  run(job, messages);
  response.status(202).json({ job_id: job.id });
});
app.get(`${root}/jobs/:id/events`, (request, response) => {
  const job = jobs.get(request.params.id);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of sql.log.all(request.params.id)) response.write(frameOf(event));
  if (!job) return response.end();
  job.readers.add(response);
  response.on('close', () => job.readers.delete(response));
});
const server = app.listen(0, '127.0.0.1', () => serving(server.address().port));
