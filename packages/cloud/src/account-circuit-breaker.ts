import { toInstant } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Machines } from './batched-compute.ts'
import { CloudError, type CloudErrorClass } from './errors.ts'
import type { MachineMetrics } from './metrics.ts'

const MINUTE_MS = 60_000
/** From the first pause, which doubles, to the last. Nobody raises a quota within seconds, nor renews a key. */
const PAUSES_MS: Partial<Record<CloudErrorClass, { readonly first: number; readonly last: number }>> = {
  auth: { first: MINUTE_MS, last: 5 * MINUTE_MS },
  quota: { first: 5 * MINUTE_MS, last: 15 * MINUTE_MS },
}
/** What the cloud did not answer says nothing of the account. */
const SAYS_NOTHING: readonly CloudErrorClass[] = ['transient', 'throttled']
/** A refusal may hold a token of a thousand characters, for whoever has the right to decode it. */
const WORDS_MAX = 300

/**
 * What is wrong with the account, not with one machine: a quota that is used up, credentials that are refused. Only a person can
 * mend that, so it is told, and what was refused is not asked for again before its pause is over: until then everybody gets the
 * same refusal, and nothing is sent.
 */
export interface AccountTroubles {
  guard(machines: Machines): Machines
  guardMetrics(metrics: MachineMetrics): MachineMetrics
  /** One sentence for each. */
  problems(): readonly string[]
  /** A new term starts over. */
  clear(): void
}

interface Trouble {
  readonly error: CloudError
  /** What was asked for, such as `RunInstances of m5zn.metal in us-east-1`. */
  readonly what: string
  /** By the wall clock, for people; the others are monotonic, since that one may be set back. */
  readonly sinceMs: number
  readonly pauseMs: number
  readonly untilMs: number
  /** Nobody has asked again since the longest pause was over: whoever wanted it wants it no longer. */
  readonly forgottenMs: number
}

/**
 * What a call is about. Credentials are good for an action in a region, but a policy may forbid it for one machine only; a quota
 * is for a type of machine.
 */
interface Subject {
  readonly call: string
  readonly region: string
  readonly type?: string
  /** What a policy may forbid of a launch. */
  readonly request?: string
  readonly id?: string
}

/** What the account was refused, and until when that holds. */
interface Refusals extends Pick<AccountTroubles, 'problems' | 'clear'> {
  of(subject: Subject): CloudError | null
  /** An answer, or an error. */
  heard(subject: Subject, outcome: unknown): void
}

function refusalsBy(clock: Clock): Refusals {
  const troubles = new Map<string, Trouble>()

  function heard(subject: Subject, outcome: unknown): void {
    const error = outcome instanceof CloudError ? outcome : null
    const pauses = error === null ? undefined : PAUSES_MS[error.errorClass]
    if (error !== null && pauses !== undefined) remember(subject, error, pauses)
    else if (error === null || !SAYS_NOTHING.includes(error.errorClass)) forget(subject)
  }

  function remember(subject: Subject, error: CloudError, pauses: { first: number; last: number }): void {
    const key = keyOf(subject, error)
    const before = troubles.get(key)
    const nowMs = clock.monotonic()
    // Whoever was under way when the pause began says nothing new.
    if (before !== undefined && nowMs < before.untilMs) return
    const pauseMs = before === undefined ? pauses.first : Math.min(2 * before.pauseMs, pauses.last)
    const untilMs = nowMs + pauseMs
    const what = `${error.action}${subject.type === undefined ? '' : ` of ${subject.type}`} in ${subject.region}`
    const sinceMs = before?.sinceMs ?? clock.now()
    troubles.set(key, { error, what, sinceMs, pauseMs, untilMs, forgottenMs: untilMs + pauses.last })
  }

  /** One machine that was taken shows that the account is well. */
  function forget(subject: Subject): void {
    for (const key of keysOf(subject)) troubles.delete(key)
    if (subject.id === undefined) return
    for (const key of [...troubles.keys()]) if (key.startsWith(placeOf(subject))) troubles.delete(key)
  }

  return {
    of(subject) {
      const paused = keysOf(subject).flatMap(key => troubles.get(key) ?? [])
      return paused.find(({ untilMs }) => clock.monotonic() < untilMs)?.error ?? null
    },
    heard,
    problems() {
      for (const [key, { forgottenMs }] of [...troubles]) if (clock.monotonic() >= forgottenMs) troubles.delete(key)
      const first = new Map<string, Trouble>()
      for (const trouble of troubles.values()) {
        const key = `${trouble.what} ${trouble.error.code}`
        if (!first.has(key)) first.set(key, trouble)
      }
      return [...first.values()].map(trouble => sentenceOf(trouble, clock))
    },
    clear: () => troubles.clear(),
  }
}

export function accountTroubles(clock: Clock): AccountTroubles {
  const refusals = refusalsBy(clock)

  async function asking<Answer>(subject: Subject, call: () => Promise<Answer>): Promise<Answer> {
    const refusal = refusals.of(subject)
    if (refusal !== null) throw refusal
    try {
      const answer = await call()
      refusals.heard(subject, answer)
      return answer
    } catch (error) {
      if (error instanceof CloudError) refusals.heard(subject, error)
      throw error
    }
  }

  return {
    guard: machines => ({
      list: (region, filter, signal) =>
        asking({ call: 'describe', region }, () => machines.list(region, filter, signal)),
      look: (region, id, signal) => asking({ call: 'describe', region }, () => machines.look(region, id, signal)),
      newestImage: (region, wanted, signal) =>
        asking({ call: 'images', region }, () => machines.newestImage(region, wanted, signal)),
      imageIds: (region, pattern, signal) =>
        asking({ call: 'images', region }, () => machines.imageIds(region, pattern, signal)),
      launch: (region, request, signal) =>
        asking({ call: 'launch', region, type: request.parameters.instance_type, request: whatOf(request) }, () =>
          machines.launch(region, request, signal),
        ),
      power: (region, act, id, signal) =>
        asking({ call: act, region, id }, () => machines.power(region, act, id, signal)),
      tag: (region, id, tags, signal) =>
        asking({ call: 'tag', region, id }, () => machines.tag(region, id, tags, signal)),
    }),
    guardMetrics: metrics => ({
      latest: (region, ids, signal) => asking({ call: 'measure', region }, () => metrics.latest(region, ids, signal)),
    }),
    problems: refusals.problems,
    clear: refusals.clear,
  }
}

const whatOf = ({ parameters: p }: Parameters<Machines['launch']>[1]): string =>
  JSON.stringify([p.image_id, p.instance_type, p.subnet_id, p.security_group_ids, p.key_name, p.iam_instance_profile])
const placeOf = ({ call, region }: Subject): string => `${call} ${region} `
const authKey = (subject: Subject): string => `${placeOf(subject)}${subject.id ?? ''}`
const quotaKey = (subject: Subject): string => `${placeOf(subject)}${subject.type ?? subject.id ?? ''}`
const policyKey = (subject: Subject): string => `${authKey(subject)}${subject.request ?? ''}`
const keysOf = (subject: Subject): readonly string[] => [authKey(subject), policyKey(subject), quotaKey(subject)]

/** Of these a policy may mean one launch and no other: a role that may not be passed on, an image that is not shared. */
const BY_POLICY: ReadonlySet<string> = new Set(['UnauthorizedOperation', 'AuthFailure', 'AccessDenied'])

function keyOf(subject: Subject, { errorClass, code }: CloudError): string {
  if (errorClass === 'quota') return quotaKey(subject)
  return BY_POLICY.has(code) ? policyKey(subject) : authKey(subject)
}

function sentenceOf({ what, error, sinceMs, untilMs }: Trouble, clock: Clock): string {
  const said = error.message.replace(`${error.action}: `, '').slice(0, WORDS_MAX).replace(/\.+$/, '')
  const again = toInstant(clock.now() + untilMs - clock.monotonic())
  return `AWS refuses ${what} since ${toInstant(sinceMs)}: ${said}; asked again at ${again}`
}
