import { fileURLToPath } from 'node:url'
import type { InstanceWish } from '../test/fixtures/bus.ts'

/** A provider CLI in the shape of Claude Code that will not end as it should, and what its turn must come to. */
export interface BadManners {
  readonly name: string
  readonly cli: readonly string[]
  readonly timeoutMs?: number
  readonly lineLimitBytes?: number
  /** `success`, or a code. */
  readonly outcome: string
}

export const graceMs = 300
export const timeoutMs = 500

const init = '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}'
const said =
  '{"type":"assistant","session_id":"s","message":{"id":"m","model":"claude-sonnet-4-5","content":[{"type":"text","text":"still here"}],"usage":{"input_tokens":1,"output_tokens":1}}}'
const result =
  '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","total_cost_usd":0.0001,"usage":{"input_tokens":1,"output_tokens":1},"permission_denials":[]}'

// A shell has begun with its mischief long before its time is up, however busy the machine is.
const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script, 'agent']
const fake = (name: string): readonly string[] => [
  process.execPath,
  fileURLToPath(new URL(`../test/fixtures/fakes/${name}.mjs`, import.meta.url)),
]

export const badManners: readonly BadManners[] = [
  { name: 'hangs', cli: shell('exec sleep 600'), outcome: 'timeout' },
  { name: 'hangs with children', cli: shell(`echo '${init}'; sleep 600 & sleep 600 & wait`), outcome: 'timeout' },
  {
    name: 'ignores TERM, INT and HUP, and talks on',
    cli: shell(`trap '' TERM INT HUP; while :; do echo '${said}'; sleep 0.1; done`),
    outcome: 'timeout',
  },
  {
    name: 'leaves a grandchild that holds stdout, and ends',
    cli: shell(`echo '${result}'; sleep 600 & exit 0`),
    outcome: 'success',
  },
  {
    name: 'leaves a grandchild that holds stdout and left the group, and ends',
    cli: shell(`echo '${result}'; setsid sleep 600 & exit 0`),
    // What may still come on stdout is waited for, for 2 s.
    timeoutMs: 2000,
    outcome: 'success',
  },
  {
    name: 'hangs, and its children leave the group and ignore TERM',
    cli: shell(`for each in 1 2 3; do setsid sh -c "trap '' TERM; sleep 600" & done; wait`),
    outcome: 'timeout',
  },
  { name: 'forks in a loop', cli: shell('while :; do sleep 600 & sleep 0.05; done'), outcome: 'timeout' },
  {
    name: 'forks in a loop outside its group',
    cli: shell(`setsid sh -c 'while :; do setsid sleep 600 & sleep 0.05; done' & wait`),
    outcome: 'timeout',
  },
  { name: 'closes stdin early and hangs', cli: shell('exec <&-; exec sleep 600'), outcome: 'timeout' },
  {
    name: 'closes stdin early and answers',
    cli: shell(`exec <&-; echo '${init}'; echo '${result}'`),
    outcome: 'success',
  },
  {
    name: 'babbles without a newline',
    cli: shell(`while :; do printf %01000d 0; sleep 0.01; done`),
    outcome: 'timeout',
  },
  {
    name: 'babbles without a newline past the limit',
    cli: shell(`printf '{"x":"'; while :; do printf %09999d 0; sleep 0.01; done`),
    lineLimitBytes: 5000,
    outcome: 'engine_cli',
  },
  { name: 'closes stdout and goes on', cli: shell('exec >&- 2>&-; exec sleep 600'), outcome: 'timeout' },
  { name: 'stops itself', cli: shell('kill -STOP $$'), outcome: 'timeout' },
  { name: 'PROC-01', cli: fake('PROC-01'), timeoutMs: 5000, outcome: 'success' },
  { name: 'STDIN-03', cli: fake('STDIN-03'), timeoutMs: 5000, outcome: 'auth' },
]

export const wishOf = ({ cli, timeoutMs: own = timeoutMs, lineLimitBytes }: BadManners): InstanceWish => ({
  concurrency: 4,
  settings: { cli, graceMs, timeoutMs: own, ...(lineLimitBytes === undefined ? {} : { lineLimitBytes }) },
})
