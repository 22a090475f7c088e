import { heldFrom } from '@lcm/domain/calendar/worker-ledger'
import { textReason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aLab, aReadySession, aRunningWorker } from '../testing/resource-builders.ts'

it('describes a worker by name', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(aRunningWorker())
  expect(await run(['describe', 'worker', 'metal-1'], shell)).toBe(0)
  expect(outLines()[0]).toBe('metal-1  w-0abcdefgh0001')
  expect(outLines()).toContain('Boot stages')
})

it('shows when the session ends that a drain waits for', async () => {
  const { shell, api, out } = capturedShell()
  const { created_at: since } = aRunningWorker()
  const reservation = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(since) }
  const deadline = '2026-01-01T04:00:00.000Z'
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const drain = { requested_at: since, by: 'ann', reason: '', then: 'STOPPED' as const, deadline }
  api.put(aRunningWorker({ status: 'DRAINING', drain, reservations: { 'ls-1': reservation } }))
  api.sessions.put(aReadySession())
  expect(await run(['describe', 'worker', 'metal-1'], shell)).toBe(0)
  expect(out()).toContain('waiting for session ls-1 to end, at most 4h; its timeslot ends in 1h')
})

it('exits with 3 for an unknown worker', async () => {
  expect(await run(['describe', 'worker', 'metal-9'], capturedShell().shell)).toBe(3)
})

it('describes a session with the name of its worker', async () => {
  const { shell, api, outLines } = capturedShell()
  api.put(aRunningWorker())
  api.sessions.put(aReadySession())
  expect(await run(['describe', 'session', 'ls-1'], shell)).toBe(0)
  expect(outLines()[0]).toBe('two-routers 1.0.0  ls-1')
  expect(outLines()).toContain('  worker     metal-1 (w-0abcdefgh0001)')
  expect(await run(['describe', 'session', 'ls-2'], shell)).toBe(3)
})

it('describes a definition', async () => {
  const { shell, api, outLines } = capturedShell()
  api.definitions.put(
    aDefinition({
      title: 'Two routers',
      topology_sha256: '0123456789abcdef',
      cml_version: { min: '2.8', max: null },
      license_affinity: ['CML_Enterprise', 'CML_Education'],
      node_definitions_required: ['iosv'],
      lab_reuse: true,
      saves_enabled: false,
      boot_lead_minutes: 15,
      source: 'https://example.com/lab.zip',
      sync: { status: 'failed', error: 'it is gone', at: aDefinition().created_at, package_sha256: null },
      port_template: [{ name: 'web_tcp_80', node: 'web', protocol: 'tcp', inside: 80 }],
    }),
  )
  expect(await run(['describe', 'definition', 'two-routers'], shell)).toBe(0)
  expect(outLines()).toEqual([
    'two-routers 1.0.0  ld-1',
    '  status     ACTIVE',
    '  warning    no template and no worker can run this lab now: no template is enabled',
    '  title      Two routers',
    '  needs      2 CPU, 4 GB, 2 nodes, 10 GB disk',
    '  nodes      iosv',
    '  license    CML_Enterprise or CML_Education',
    '  cml        2.8 or newer',
    '  maximum    1h',
    '  starts     15 min before its slot (set in the definition)',
    '  reuse      labs are wiped and reused for later sessions',
    '  saves      off: the work in its labs is not saved',
    '  source     https://example.com/lab.zip',
    '  sync       failed 0s ago: it is gone',
    '  topology   sha256 0123456789ab; show it with `lcm get definition ld-1 -o yaml`',
    '  created    0s ago by ann',
    '  version    1',
    '',
    'Access',
    '  NAME         NODE   PROTOCOL   NODE PORT',
    '  web_tcp_80   web    tcp        80',
  ])
})

it('shows a user what the API shows it', async () => {
  const { shell, api, out, outLines } = capturedShell()
  const sync = { status: 'failed', error: 'bucket payroll is refused', at: null, package_sha256: null } as const
  const source = 'https://example.com/lab.zip?X-Amz-Signature=abc'
  api.definitions.put(aDefinition({ topology: 'lab: {}', topology_sha256: '0123456789abcdef', source, sync }))
  api.put(aRunningWorker())
  api.actAs({ id: 'bob', name: 'bob', role: 'user' })
  expect(await run(['describe', 'definition', 'two-routers'], shell)).toBe(0)
  expect(outLines()).toEqual(
    expect.arrayContaining([
      '  source     https://example.com/lab.zip',
      '  sync       failed: the source could not be fetched',
      '  topology   sha256 0123456789ab; only authors and operators can see it',
    ]),
  )
  expect(await run(['get', 'workers'], shell)).toBe(0)
  expect(await run(['describe', 'worker', 'metal-1'], shell)).toBe(0)
  expect(out()).toContain('metal-1')
  expect(out()).not.toMatch(/203\.0\.113|10\.0\.0\.7|i-0123456789|Signature/)
})

it('describes a lab', async () => {
  const { shell, api, outLines } = capturedShell()
  const at = aLab().created_at
  api.labs.put(
    aLab({
      nodes: [{ label: 'r1', node_definition: 'iosv', state: 'BOOTED' }],
      ports: { r1_serial: 2000 },
      last_error: 'CML refused it',
      pending_action: { action: 'delete', by: 'ann', at, attempts: 2, error: 'CML answers 500' },
      runs: [{ started_at: at, stopped_at: null, session_id: 'ls-1', reason: textReason('booked') }],
    }),
  )
  expect(await run(['describe', 'lab', 'BGP basics'], shell)).toBe(0)
  expect(outLines()).toEqual([
    'BGP basics  lr-1',
    '  status     BOOTED (CML: STARTED)',
    '  pending    delete by ann, 0s ago, try 2: CML answers 500',
    '  error      CML refused it',
    '  worker     w-0abcdefgh0001',
    '  definition ld-1',
    '  cml id     lab-1',
    '  owner      admin',
    '  origin     created by LCM',
    '  size       2 nodes, 1 link',
    '  changed    0s ago',
    '  last seen  0s ago, first 0s ago',
    '  version    1',
    '',
    'Nodes',
    '  LABEL   KIND   STATE',
    '  r1      iosv   BOOTED',
    '',
    'Ports',
    '  NAME        PORT',
    '  r1_serial   2000',
    '',
    'Runs, newest first',
    '  STARTED   ENDED   SESSION   REASON',
    '  0s ago    -       ls-1      booked',
  ])
})
