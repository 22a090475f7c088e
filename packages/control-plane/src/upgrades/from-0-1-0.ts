import type { OldBody, Upgrade } from '@lcm/store/store'

/** Reasons were texts. They are written out here and not made by the domain, whose words and codes may change again. */
interface FirstReason {
  readonly code: string
  readonly message: string
  readonly params: object
}

const MESSAGE_CHARS_MAX = 1000
const NOT_GIVEN: FirstReason = { code: 'not_given', message: 'no reason given', params: {} }
const PASSED: FirstReason = { code: 'boot_stage_passed', message: 'passed', params: {} }
const PENDING: FirstReason = {
  code: 'boot_stage_pending',
  message: 'waiting for an earlier stage of the boot',
  params: {},
}
const UNSCHEDULABLE = 'unschedulable: '

/** Never cuts a character in two. */
const cut = (text: string): string => text.slice(0, MESSAGE_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, '')

function textOf(value: unknown): FirstReason {
  const text = cut(String(value))
  return text === '' ? NOT_GIVEN : { code: 'text', message: text, params: { text } }
}

function waitingReason(value: unknown): FirstReason | null {
  if (typeof value !== 'string') return null
  if (!value.startsWith(UNSCHEDULABLE)) return textOf(value)
  const cause = textOf(value.slice(UNSCHEDULABLE.length))
  const message = cut(`can't be scheduled: ${cause.message}`)
  return { code: 'unschedulable', message, params: { cause } }
}

/** The word was for programs and the message for people. Controllers still act on some of the words. */
function conditionReason({ reason: word, message }: OldBody): FirstReason {
  const text = textOf(message === '' ? word : message)
  if (word === 'Passed') return PASSED
  if (word === 'Waiting' && message === '') return PENDING
  if (word === 'InputMissing') return { ...text, code: 'launch_input_missing', params: { cause: text } }
  return word === 'timeout' ? { ...text, code: 'status_timeout' } : text
}

/** Words that stood for a code. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['created', 'worker_created'],
  ['idle', 'worker_idle'],
  ['external', 'stopped_outside_lcm'],
])
const wordOrText = (value: unknown): FirstReason => {
  const text = textOf(value)
  const code = CODES.get(text.message)
  return code === undefined ? text : { ...text, code, params: {} }
}

const listOf = (value: unknown): readonly OldBody[] => (Array.isArray(value) ? value : [])
const mapOf = (value: unknown): readonly (readonly [string, OldBody])[] => Object.entries(Object(value))

const conditions = (value: unknown): object[] =>
  listOf(value).map(({ message, ...condition }) => ({
    ...condition,
    reason: conditionReason({ ...condition, message }),
  }))
const history = (value: unknown): object[] =>
  listOf(value).map(move => ({ ...move, because: wordOrText(move.because) }))

function pause(value: unknown): object {
  const before: OldBody = Object(value)
  return { ...before, reason: typeof before.reason === 'string' ? wordOrText(before.reason) : null }
}

/** Its lab may run, and its end is not known. */
const heldReservation = (reservation: OldBody): object => ({
  ...reservation,
  from: reservation.since,
  until: null,
  started_at: reservation.since,
})

const OWN_URL = /^https:\/\/([a-z0-9.-]+)(?::(\d{1,5}))?\/?$/i
const isNodePort = (port: number): boolean => port >= 2000 && port <= 7999

/** Whether a machine that LCM did not launch was in use at an address of its own. */
function wasInUse({ https_endpoint, public_ip, private_ip, cml }: OldBody): boolean {
  const [, host, port] = OWN_URL.exec(String(https_endpoint)) ?? []
  const isOwn = host !== undefined && (host === public_ip || host === private_ip)
  return isOwn && !isNodePort(Number(port)) && typeof Object(cml).certificate_sha256 === 'string'
}

/** The API records caller and time of an approval when it starts. */
function trust(worker: OldBody): object {
  const approval = (state: string) => ({ state, by: null, at: null, fingerprint: null })
  const isLaunched = Object(worker.launch).state === 'launched'
  if (worker.ec2_instance_id === null || isLaunched) return { approval: approval('not_needed') }
  if (wasInUse(worker)) return { approval: approval('migrated') }
  // Its certificate may be that of the server to which a tag had led LCM.
  return { approval: approval('required'), cml: { ...Object(worker.cml), certificate_sha256: null } }
}

/**
 * Reasons become data, except texts of users such as `desired_reason`. `flights` become `purchases`. Every session is indexed
 * again, because its `reservation_id` is unique per owner now. Machines need an approval, and imported ones have no known price.
 * Reservations are held. Tokens
 * get a person with the id of their actor, so that the owners of sessions stay; `seedPeople` creates its record.
 */
export const FROM_0_1_0: Upgrade = {
  worker: worker => ({
    ...worker,
    conditions: conditions(worker.conditions),
    state_history: history(worker.state_history),
    ...(worker.pause === undefined ? {} : { pause: pause(worker.pause) }),
    ...trust(worker),
    reservations: Object.fromEntries(mapOf(worker.reservations).map(([id, each]) => [id, heldReservation(each)])),
    // 0 stood for the unknown price of an imported machine.
    ...(worker.origin === 'DISCOVERY' && worker.cost_per_hour_usd === 0 ? { cost_per_hour_usd: null } : {}),
  }),
  session: session => ({
    ...session,
    conditions: conditions(session.conditions),
    state_history: history(session.state_history),
    waiting_reason: waitingReason(session.waiting_reason),
  }),
  lab_record: lab => ({ ...lab, runs: listOf(lab.runs).map(run => ({ ...run, reason: textOf(run.reason) })) }),
  instance: instance => ({
    ...instance,
    plan: listOf(instance.plan).map(step => ({ ...step, because: textOf(step.because) })),
    problems: listOf(instance.problems).map(textOf),
  }),
  fleet_scaling: ({ flights, ...scaling }) => ({
    ...scaling,
    purchases: flights,
    stop_permits: Object.fromEntries(
      mapOf(scaling.stop_permits).map(([id, permit]) => [id, { ...permit, reason: textOf(permit.reason) }]),
    ),
  }),
  license_leak: leak => ({ ...leak, reason: textOf(leak.reason) }),
  /** Links of before end. */
  login_code: code => ({ ...code, credential: '' }),
  token: token => ({ ...token, person_id: token.role === 'controller' ? null : `token:${token.id}` }),
}
