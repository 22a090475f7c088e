import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { Clock } from '@lcm/runtime/clock'
import { CloudError, type CloudErrorClass } from '../errors.ts'
import type { MachineMetrics } from '../machine-metrics.ts'
import type { BatchedCompute } from './batched-compute.ts'

const MINUTE_MS = 60_000
/** First pause, which doubles, and last one. Raising a quota or renewing a key takes a person more than seconds. */
const PAUSES_MS: Partial<Record<CloudErrorClass, { readonly first: number; readonly last: number }>> = {
  auth: { first: MINUTE_MS, last: 5 * MINUTE_MS },
  quota: { first: 5 * MINUTE_MS, last: 15 * MINUTE_MS },
}
/** Errors that prove nothing about the account. */
const INCONCLUSIVE: readonly CloudErrorClass[] = ['transient', 'throttled']
/** An AWS error may hold a token of a thousand characters, for people who may decode it. */
const MESSAGE_MAX = 300

/**
 * Detects problems of the account rather than of one machine: an exhausted quota, rejected credentials. Only a person
 * can fix them, so they are reported, and a rejected call is not repeated before its pause is over: until then every
 * caller gets the same error, and nothing is sent.
 */
export interface AccountCircuitBreaker {
  guardCompute(machines: BatchedCompute): BatchedCompute
  guardMetrics(metrics: MachineMetrics): MachineMetrics
  problems(): readonly Reason[]
  /** Called when a new term starts. */
  clear(): void
}

interface AccountProblem {
  readonly error: CloudError
  readonly subject: Subject
  /** Wall clock, for people; the others are monotonic, since the wall clock may be set back. */
  readonly sinceMs: number
  readonly pauseMs: number
  readonly untilMs: number
  /** When to drop the problem if no caller has retried since the longest pause. */
  readonly expiresMs: number
}

/**
 * Scope of a call. Credentials allow an action in a region, but a policy may forbid it for one machine only; a quota
 * applies to an instance type.
 */
interface Subject {
  readonly call: string
  readonly region: string
  readonly type?: string
  /** Launch parameters that a policy may forbid. */
  readonly request?: string
  readonly id?: string
}

/** Open problems of the account and their pauses. */
interface Refusals extends Pick<AccountCircuitBreaker, 'problems' | 'clear'> {
  of(subject: Subject): CloudError | null
  /** `outcome` is a response or an error. */
  record(subject: Subject, outcome: unknown): void
}

function refusalTracker(clock: Clock): Refusals {
  const problemsByKey = new Map<string, AccountProblem>()

  function record(subject: Subject, outcome: unknown): void {
    const error = outcome instanceof CloudError ? outcome : null
    const pauses = error === null ? undefined : PAUSES_MS[error.errorClass]
    if (error !== null && pauses !== undefined) remember(subject, error, pauses)
    else if (error === null || !INCONCLUSIVE.includes(error.errorClass)) forget(subject)
  }

  function remember(subject: Subject, error: CloudError, pauses: { first: number; last: number }): void {
    const key = keyOf(subject, error)
    const before = problemsByKey.get(key)
    const nowMs = clock.monotonic()
    // A call that was already in progress when the pause began proves nothing new.
    if (before !== undefined && nowMs < before.untilMs) return
    const pauseMs = before === undefined ? pauses.first : Math.min(2 * before.pauseMs, pauses.last)
    const untilMs = nowMs + pauseMs
    const sinceMs = before?.sinceMs ?? clock.now()
    problemsByKey.set(key, { error, subject, sinceMs, pauseMs, untilMs, expiresMs: untilMs + pauses.last })
  }

  /** One successful call for a machine proves that the account works. */
  function forget(subject: Subject): void {
    for (const key of keysOf(subject)) problemsByKey.delete(key)
    if (subject.id === undefined) return
    for (const key of [...problemsByKey.keys()]) if (key.startsWith(scopeOf(subject))) problemsByKey.delete(key)
  }

  return {
    of(subject) {
      const paused = keysOf(subject).flatMap(key => problemsByKey.get(key) ?? [])
      return paused.find(({ untilMs }) => clock.monotonic() < untilMs)?.error ?? null
    },
    record,
    problems() {
      for (const [key, { expiresMs }] of [...problemsByKey])
        if (clock.monotonic() >= expiresMs) problemsByKey.delete(key)
      const first = new Map<string, AccountProblem>()
      for (const problem of problemsByKey.values()) {
        const { error, subject } = problem
        const key = [error.action, subject.type ?? '', subject.region, error.code].join(' ')
        if (!first.has(key)) first.set(key, problem)
      }
      return [...first.values()].map(problem => reasonOf(problem, clock))
    },
    clear: () => problemsByKey.clear(),
  }
}

export function accountCircuitBreaker(clock: Clock): AccountCircuitBreaker {
  const refusals = refusalTracker(clock)

  async function guarded<Answer>(subject: Subject, call: () => Promise<Answer>): Promise<Answer> {
    const refusal = refusals.of(subject)
    if (refusal !== null) throw refusal
    try {
      const answer = await call()
      refusals.record(subject, answer)
      return answer
    } catch (error) {
      if (error instanceof CloudError) refusals.record(subject, error)
      throw error
    }
  }

  return {
    guardCompute: machines => ({
      list: (region, filter, signal) =>
        guarded({ call: 'describe', region }, () => machines.list(region, filter, signal)),
      describeOne: (region, id, signal) =>
        guarded({ call: 'describe', region }, () => machines.describeOne(region, id, signal)),
      newestImage: (region, wanted, signal) =>
        guarded({ call: 'images', region }, () => machines.newestImage(region, wanted, signal)),
      imageIds: (region, pattern, signal) =>
        guarded({ call: 'images', region }, () => machines.imageIds(region, pattern, signal)),
      launch: (region, request, signal) =>
        guarded({ call: 'launch', region, type: request.parameters.instance_type, request: launchKey(request) }, () =>
          machines.launch(region, request, signal),
        ),
      powerOne: (region, act, id, signal) =>
        guarded({ call: act, region, id }, () => machines.powerOne(region, act, id, signal)),
      tag: (region, id, tags, signal) =>
        guarded({ call: 'tag', region, id }, () => machines.tag(region, id, tags, signal)),
    }),
    guardMetrics: metrics => ({
      latest: (region, ids, signal) => guarded({ call: 'measure', region }, () => metrics.latest(region, ids, signal)),
    }),
    problems: refusals.problems,
    clear: refusals.clear,
  }
}

const launchKey = ({ parameters: p }: Parameters<BatchedCompute['launch']>[1]): string =>
  JSON.stringify([p.image_id, p.instance_type, p.subnet_id, p.security_group_ids, p.key_name, p.iam_instance_profile])
const scopeOf = ({ call, region }: Subject): string => `${call} ${region} `
const authKey = (subject: Subject): string => `${scopeOf(subject)}${subject.id ?? ''}`
const quotaKey = (subject: Subject): string => `${scopeOf(subject)}${subject.type ?? subject.id ?? ''}`
const policyKey = (subject: Subject): string => `${authKey(subject)}${subject.request ?? ''}`
const keysOf = (subject: Subject): readonly string[] => [authKey(subject), policyKey(subject), quotaKey(subject)]

/** With these codes a policy may mean one launch only: a role that may not be passed, an image that is not shared. */
const POLICY_CODES: ReadonlySet<string> = new Set(['UnauthorizedOperation', 'AuthFailure', 'AccessDenied'])

function keyOf(subject: Subject, { errorClass, code }: CloudError): string {
  if (errorClass === 'quota') return quotaKey(subject)
  return POLICY_CODES.has(code) ? policyKey(subject) : authKey(subject)
}

function reasonOf({ subject, error, sinceMs, untilMs }: AccountProblem, clock: Clock): Reason {
  return reason('aws_refuses_call', {
    operation: error.action,
    instance_type: subject.type ?? null,
    region: subject.region,
    error_class: error.errorClass,
    aws_code: error.code,
    since: toInstant(sinceMs),
    error: error.message.replace(`${error.action}: `, '').slice(0, MESSAGE_MAX).replace(/\.+$/, ''),
    next_try_at: toInstant(clock.now() + untilMs - clock.monotonic()),
  })
}
