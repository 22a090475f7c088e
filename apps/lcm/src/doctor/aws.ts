import type { AccountFacts } from '../serve/examination.ts'
import { judgeClock, type Skew } from './api.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const POLICY = 'docs/how-to/run-on-aws.md has the policy'
/** AWS refuses whatever was signed more than five minutes away from its own time. */
const REFUSED_MS = 4 * 60_000

/** `atMs`: the time here when AWS was asked. */
export function judgeAws(facts: AccountFacts, atMs: number): Finding[] {
  const { credentialsError, caller, callerError, actions } = facts
  if (credentialsError !== null) {
    const next =
      'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine an instance role'
    return [failure('aws', `no AWS credentials were found: ${credentialsError}`, next)]
  }
  const clock = caller?.atMs == null ? [] : [judgeClock('AWS', skewOf(caller.atMs, atMs), REFUSED_MS)]
  const off = clock.filter(({ severity }) => severity !== 'ok')
  const refusal = caller?.refusal ?? null
  const rejected = actions.find(({ verdict }) => verdict === 'rejected')
  if (refusal !== null || rejected !== undefined) {
    const said = refusal === null ? rejected?.details : `${refusal.code}: ${refusal.message}`
    const next = off.length > 0 ? 'set the clock first' : 'renew them: they are wrong, expired or of another account'
    return [failure('aws', `AWS refuses the credentials: ${said}`, next), ...off]
  }
  if (actions.every(({ verdict }) => verdict === 'untold')) {
    const why = callerError ?? actions[0]?.details ?? 'no answer'
    return [
      failure('aws', `AWS can't be asked: ${why}`, 'check the way to it: DNS, proxies, AWS_ENDPOINT_URL, regions'),
      ...off,
    ]
  }
  return [
    ok('aws', `AWS knows the credentials${caller?.arn ? ` as ${caller.arn}` : ''}`),
    ...off,
    ...judgeRights(actions),
  ]
}

const skewOf = (thereMs: number, hereMs: number): Skew => ({ ms: thereMs + 500 - hereMs, uncertaintyMs: 5000 })

function judgeRights(actions: AccountFacts['actions']): Finding[] {
  const denied = merged(actions, 'denied').map(({ action, regions, details }) =>
    failure(
      'aws',
      `the IAM action ${action} is missing in ${regions}: ${details}`,
      `add ${action} to the policy of the role; ${POLICY}`,
    ),
  )
  const untold = merged(actions, 'untold')
  const doubts =
    untold.length === 0
      ? []
      : [
          warning(
            'aws',
            `AWS did not say whether these are allowed: ${untold.map(({ action }) => action).join(', ')} (${untold[0]?.details})`,
            `compare the policy by hand; ${POLICY}. Ask again once a worker has been launched`,
          ),
        ]
  const granted = new Set(actions.filter(({ verdict }) => verdict === 'granted').map(({ action }) => action)).size
  const good =
    denied.length + doubts.length === 0 ? [ok('aws', `all ${granted} IAM actions that LCM needs are allowed`)] : []
  return [...good, ...denied, ...doubts]
}

type Tried = AccountFacts['actions'][number]

interface Merged {
  readonly action: string
  readonly regions: string
  readonly details: string
}

/** One line for an action, however many regions refuse it. */
function merged(actions: readonly Tried[], verdict: Tried['verdict']): Merged[] {
  const found = actions.filter(tried => tried.verdict === verdict)
  return [...new Set(found.map(({ action }) => action))].map(action => {
    const same = found.filter(tried => tried.action === action)
    return { action, regions: same.map(({ region }) => region).join(', '), details: shortened(same[0]?.details ?? '') }
  })
}

const DETAILS_MAX = 300

/** A refusal ends with a token of a thousand characters, for whoever has the right to decode it. */
const shortened = (details: string): string =>
  details
    .replace(/\.? Encoded authorization failure message:.*$/s, '')
    .slice(0, DETAILS_MAX)
    .replace(/\.+$/, '')
