import type { AccountCheck } from '../serve/doctor-probes.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { judgeClock, type Skew } from './judge-api.ts'

const POLICY = 'docs/how-to/run-on-aws.md has the policy'
/** AWS rejects requests signed more than five minutes away from its own time. */
const REFUSED_MS = 4 * 60_000

/** `atMs` is the local time of the request to AWS. */
export function judgeAws(facts: AccountCheck, atMs: number): Finding[] {
  const { credentialsError, caller, callerError, actions } = facts
  if (credentialsError !== null) {
    const next =
      'set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or assign an instance role to this computer'
    return [failure('aws', `no AWS credentials were found: ${credentialsError}`, next)]
  }
  const clock = caller?.atMs == null ? [] : [judgeClock('AWS', skewOf(caller.atMs, atMs), REFUSED_MS)]
  const off = clock.filter(({ severity }) => severity !== 'ok')
  const refusal = caller?.refusal ?? null
  const rejected = actions.find(({ verdict }) => verdict === 'rejected')
  if (refusal !== null || rejected !== undefined) {
    const details = refusal === null ? rejected?.details : `${refusal.code}: ${refusal.message}`
    const next =
      off.length > 0 ? 'correct the clock first' : 'renew them: they are wrong, expired or belong to another account'
    return [failure('aws', `AWS rejects the credentials: ${details}`, next), ...off]
  }
  if (actions.every(({ verdict }) => verdict === 'inconclusive')) {
    const why = callerError ?? actions[0]?.details ?? 'no answer'
    return [
      failure('aws', `AWS is unreachable: ${why}`, 'check DNS, proxies, AWS_ENDPOINT_URL and the regions'),
      ...off,
    ]
  }
  return [
    ok('aws', `AWS credentials are valid${caller?.arn ? ` (${caller.arn})` : ''}`),
    ...off,
    ...judgeRights(actions),
  ]
}

const skewOf = (thereMs: number, hereMs: number): Skew => ({ ms: thereMs + 500 - hereMs, uncertaintyMs: 5000 })

function judgeRights(actions: AccountCheck['actions']): Finding[] {
  const denied = merged(actions, 'denied').map(({ action, regions, details }) =>
    failure(
      'aws',
      `the IAM action ${action} is missing in ${regions}: ${details}`,
      `add ${action} to the policy of the role; ${POLICY}`,
    ),
  )
  const inconclusive = merged(actions, 'inconclusive')
  const doubts =
    inconclusive.length === 0
      ? []
      : [
          warning(
            'aws',
            `AWS did not confirm these permissions: ${inconclusive.map(({ action }) => action).join(', ')} (${inconclusive[0]?.details})`,
            `compare the policy manually; ${POLICY}. Run doctor again after the first launch`,
          ),
        ]
  const granted = new Set(actions.filter(({ verdict }) => verdict === 'granted').map(({ action }) => action)).size
  const good = denied.length + doubts.length === 0 ? [ok('aws', `all ${granted} required IAM actions are allowed`)] : []
  return [...good, ...denied, ...doubts]
}

type Tried = AccountCheck['actions'][number]

interface Merged {
  readonly action: string
  readonly regions: string
  readonly details: string
}

/** Merges the regions of each action into one line. */
function merged(actions: readonly Tried[], verdict: Tried['verdict']): Merged[] {
  const found = actions.filter(tried => tried.verdict === verdict)
  return [...new Set(found.map(({ action }) => action))].map(action => {
    const same = found.filter(tried => tried.action === action)
    return { action, regions: same.map(({ region }) => region).join(', '), details: shortened(same[0]?.details ?? '') }
  })
}

const DETAILS_MAX = 300

/** Removes the encoded authorization message, which has about a thousand characters. */
const shortened = (details: string): string =>
  details
    .replace(/\.? Encoded authorization failure message:.*$/s, '')
    .slice(0, DETAILS_MAX)
    .replace(/\.+$/, '')
