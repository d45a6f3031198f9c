// Attachments: what is stored, under which name, which bytes come back, and forms that are cut anywhere.
import { createHash } from 'node:crypto';

import { cleanUp, hosts, type Api, type Json, runJob, serve } from './kit';

afterEach(cleanUp);

const path = '/api/v1/chat/attachments';
const png = Buffer.from('iVBORw0KGgo=', 'base64');
const boundary = 'the-boundary';
const formType = { 'content-type': `multipart/form-data; boundary=${boundary}` };

function formOf(filename: string, bytes: string | Buffer, more = ''): Buffer {
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/html\r\n\r\n`;
  return Buffer.concat([
    Buffer.from(more + head),
    Buffer.from(bytes),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
}

const uploadForm = (api: Api, body: Buffer, status = 201): Promise<Json> =>
  api.json(path, status, { method: 'POST', headers: formType, body: new Uint8Array(body) });

const upload = async (api: Api, name: string, bytes: string | Buffer): Promise<Json> =>
  (await uploadForm(api, formOf(name, bytes))).attachment;

describe.each(hosts)('attachments (%s)', (host) => {
  it('come back as they were sent', async () => {
    const api = await serve(host);
    const bytes = Buffer.from([
      ...Array(256).keys(),
      13,
      10,
      45,
      45,
      ...Buffer.from('--the-bound'),
    ]);
    const attachment = await upload(api, 'a b.bin', bytes);
    const hash = createHash('sha256').update(bytes).digest('hex');
    expect(attachment).toMatchObject({
      ...{ name: 'a b.bin', display_name: 'a b.bin', size: bytes.length, sha256: hash },
      ...{ kind: 'file', media_type: 'application/octet-stream', uid: attachment.id },
      ...{ download_url: `${path}/${attachment.id}`, source_ref: `${path}/${attachment.id}` },
      ...{ discarded: false, source_kind: 'runtime_webchat_attachment' },
    });
    expect(attachment.id).toMatch(/^[0-9a-f]{32}$/);
    expect(attachment).not.toHaveProperty('preview_url');
    const response = await api.send(attachment.download_url as string);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="a b.bin"',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      etag: `"${hash}"`,
    });
    expect(response.headers.get('content-security-policy')).toMatch(/sandbox/);
    const statusWith = async (tags: string): Promise<number> => {
      const headers = { 'if-none-match': tags };
      return (await api.send(attachment.download_url as string, { headers })).status;
    };
    for (const tags of [`"${hash}"`, `"x" , W/"${hash}"`, `W/"${hash}","x"`, '*']) {
      expect([tags, await statusWith(tags)]).toEqual([tags, 304]);
    }
    for (const tags of ['"x"', hash, `"${hash}`]) expect(await statusWith(tags)).toBe(200);
    await api.json(`${path}/${attachment.id}/preview`, 415);
    const two = await upload(api, 'other.txt', bytes);
    expect([two.sha256, two.id === attachment.id]).toEqual([hash, false]);
  });

  it('have previews where they are images', async () => {
    const api = await serve(host);
    for (const [name, type, bytes] of [
      ['a.png', 'image/png', png],
      ['A.JPG', 'image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
      ['a.svg', 'image/svg+xml', '<svg onload="alert(1)"/>'],
      ['a.html', 'image/png', png],
    ] as const) {
      const attachment = await upload(api, name, bytes);
      expect(attachment).toMatchObject({ kind: 'image', media_type: type });
      const response = await api.send(attachment.preview_url as string);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('content-disposition')).toMatch(/^inline;/);
      expect(response.headers.get('content-security-policy')).toMatch(/^sandbox;/);
    }
  });

  it.each(['a.png', 'a.svg', 'a.pdf', 'a.jpg'])('show no image that is none: %s', async (name) => {
    const api = await serve(host);
    const attachment = await upload(api, name, '<html><script>alert(1)</script></html>');
    expect(attachment).toMatchObject({ kind: 'file', media_type: 'application/octet-stream' });
    await api.json(`${path}/${attachment.id}/preview`, 415);
    const response = await api.send(attachment.download_url as string);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment;/),
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['Bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99999999999', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=4-2', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=1-2,4-5', 200, '0123456789', null],
    ['bytes=x-2', 200, '0123456789', null],
    ['bytes=2-x', 200, '0123456789', null],
    ['bytes=99999999999999999999999-', 200, '0123456789', null],
    ['items=1-2', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ])('give the range %s: %i', async (range, status, text, contentRange) => {
    const api = await serve(host);
    const { download_url: url } = await upload(api, 'n.txt', '0123456789');
    const response = await api.send(url as string, { headers: { range } });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-range')).toBe(contentRange);
    expect(await response.text()).toBe(text);
  });

  it('give a part to who has the rest of the same bytes', async () => {
    const api = await serve(host);
    const { download_url: url } = await upload(api, 'n.txt', '0123456789');
    const whole = await api.send(url as string);
    const etag = whole.headers.get('etag') ?? '';
    const send = async (condition: string): Promise<[number, string]> => {
      const headers = { range: 'bytes=7-', 'if-range': condition };
      const response = await api.send(url as string, { headers });
      return [response.status, await response.text()];
    };
    expect(await send(etag)).toEqual([206, '789']);
    for (const other of ['"x"', `W/${etag}`, new Date().toUTCString()]) {
      expect(await send(other)).toEqual([200, '0123456789']);
    }
  });

  it('answer a look without their bytes', async () => {
    const api = await serve(host);
    const attachment = await upload(api, 'a.txt', Buffer.alloc(700_000, 'ab'));
    const url = attachment.download_url as string;
    // A range is for GET alone (RFC 9110, 14.2).
    for (const range of [undefined, 'bytes=1-10', 'bytes=999999-', 'bytes=x']) {
      const headers = range === undefined ? {} : { range };
      const response = await api.send(url, { method: 'HEAD', headers });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-range')).toBeNull();
      expect(response.headers.get('content-length')).toBe('700000');
      expect(await response.text()).toBe('');
    }
    const whole = await api.send(url);
    expect(whole.headers.get('content-length')).toBe('700000');
    expect(Buffer.from(await whole.arrayBuffer()).equals(Buffer.alloc(700_000, 'ab'))).toBe(true);
    const part = await api.send(url, { headers: { range: 'bytes=299999-600001' } });
    expect(await part.text()).toBe(`b${'ab'.repeat(150_001)}`);
  });

  it('are rejected alike however large they are', async () => {
    const api = await serve(host, { api: { attachmentBytes: 1000 } });
    const limit = { error: 'file too large', max_upload_size_bytes: 1000 };
    for (const size of [1001, 5 << 20, 9 << 20]) {
      expect(await uploadForm(api, formOf('a.bin', Buffer.alloc(size)), 413)).toEqual(limit);
    }
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\\\Users\\\\me\\\\a.txt', 'a.txt'],
    ['..', 'attachment'],
    ['/', 'attachment'],
    ['a%2F..%2Fb.txt', 'b.txt'],
    ['a%252Fb.txt', 'a%2Fb.txt'],
    ['a\u0001\u007fb.txt', 'ab.txt'],
    ['%0D%0ASet-Cookie: x.txt', 'Set-Cookie: x.txt'],
    [`${'n'.repeat(200)}.tar.gz`, 'attachment.tar.gz'],
    ['名前.txt', '名前.txt'],
  ])('are named %s as %s', async (given, name) => {
    const api = await serve(host);
    const attachment = await upload(api, given, 'x');
    expect(attachment.name).toBe(name);
    const response = await api.send(attachment.download_url as string);
    const disposition = response.headers.get('content-disposition') ?? '';
    expect(disposition).toMatch(/^attachment; filename="[ -~]*"/);
    if (name === '名前.txt') {
      expect(disposition).toBe(
        `attachment; filename="__.txt"; filename*=UTF-8''${encodeURIComponent(name)}`,
      );
    }
  });

  it('take any bytes for a name and give text', async () => {
    const api = await serve(host);
    const wild = Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]);
    const [before, after] = formOf('@', 'x').toString('latin1').split('@') as [string, string];
    const body = Buffer.concat([Buffer.from(before), wild, Buffer.from(after)]);
    const { attachment } = await uploadForm(api, body);
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items).toEqual([]);
    expect(Buffer.from(attachment.name as string).toString()).toBe(attachment.name);
    expect((await api.send(attachment.download_url as string)).status).toBe(200);
    await runJob(api, { text: 'x', attachment_ids: [attachment.id] });
    const after2 = await api.json('/api/v1/chat/history', 200);
    expect(after2.items[0].attachments).toHaveLength(1);
  });

  it('are refused where the form is cut, at every byte', async () => {
    const api = await serve(host);
    const more = `--${boundary}\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n`;
    const form = formOf('a.txt', 'content', more);
    const last = form.length - 2;
    for (let size = 0; size < form.length; ++size) {
      const response = await api.send(path, {
        ...{ method: 'POST', headers: formType, body: new Uint8Array(form.subarray(0, size)) },
      });
      // The line's end behind the last boundary tells nothing.
      expect(`${size}: ${response.status}`).toBe(`${size}: ${size < last ? 400 : 201}`);
      await response.text();
    }
    await uploadForm(api, form);
  });

  it.each([
    ['no form', 'text/plain', 'x', 'multipart request required'],
    ['no boundary', 'multipart/form-data', 'x', 'multipart request required'],
    ['no file', formType['content-type'], `--${boundary}--\r\n`, 'file field is required'],
    [
      'a field that is no file',
      formType['content-type'],
      `--${boundary}\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--${boundary}--`,
      'file field is required',
    ],
  ])('are refused: %s', async (_what, type, body, error) => {
    const api = await serve(host);
    const headers = { 'content-type': type };
    expect(await api.json(path, 400, { method: 'POST', headers, body })).toEqual({ error });
  });

  it('have a limit to the byte', async () => {
    const api = await serve(host, { api: { attachmentBytes: 1000 } });
    expect(await api.json(`${path}/capabilities`, 200)).toEqual({
      ...{ max_upload_size_bytes: 1000, multipart_field: 'file' },
    });
    expect((await upload(api, 'a.txt', 'x'.repeat(1000))).size).toBe(1000);
    expect(await uploadForm(api, formOf('a.txt', 'x'.repeat(1001)), 413)).toEqual({
      ...{ error: 'file too large', max_upload_size_bytes: 1000 },
    });
    const huge = await api.send(path, {
      ...{ method: 'POST', headers: formType, body: new Uint8Array(8 << 20) },
    });
    expect(huge.status).toBe(413);
    expect((await upload(api, 'empty.txt', '')).size).toBe(0);
  });

  it('are not found under other names', async () => {
    const api = await serve(host);
    for (const id of ['unknown-id', 'x', '..%2f..%2fetc', '%00', 'x'.repeat(5000)]) {
      expect(await api.json(`${path}/${id}`, 404)).toEqual({ error: 'Attachment not found' });
      await api.json(`${path}/${id}/preview`, 404);
    }
  });

  it('go with a message and stay with it', async () => {
    const api = await serve(host);
    const [one, two] = [await upload(api, 'a.png', png), await upload(api, 'b.txt', 'y')];
    const ids = [one.id, two.id, one.id, '../x', 7];
    await runJob(api, { text: 'look', attachment_ids: ids });
    await runJob(api, { attachment_ids: [two.id] });
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items[0].content).toBe('look');
    expect(items[0].attachments).toMatchObject([
      { uid: one.id, kind: 'image', media_type: 'image/png', display_name: 'a.png' },
      { uid: two.id, kind: 'file', download_url: two.download_url },
    ]);
    expect(items[0].attachments[0].preview_url).toBe(one.preview_url);
    expect(items[2].attachments).toHaveLength(1);
  });

  it('are made of media within an answer', async () => {
    const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64');
    const api = await serve(host, {
      agent: () => Promise.resolve(`look [CQ:image,file=base64://${png}] there`),
    });
    const job = await runJob(api, 'draw');
    const { events } = await api.json(`/api/v1/chat/jobs/${job.job_id}/events`, 200);
    const { payload } = events.find(({ event }: Json) => event === 'message');
    expect(payload.attachments).toHaveLength(1);
    const [attachment] = payload.attachments as [Json];
    expect(payload.content).toBe(`look <attachment uid="${attachment.uid}"/> there`);
    expect(attachment.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
    const response = await api.send(attachment.download_url as string);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).toString('base64')).toBe(png);
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items[1]).toMatchObject({
      content: payload.content,
      attachments: [{ uid: attachment.uid, created_at: expect.stringMatching(/^\d{4}-/) }],
    });
  });
});
