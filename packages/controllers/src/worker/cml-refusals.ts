import { type CmlAccessChange, type CmlAccessTracker, cmlAccessTracker } from '@lcm/cloud/cml-access-tracker'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { NOT_REFUSED, refusalWords } from '@lcm/domain/worker/decision/cml-access'
import type { Logger, Meter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

export interface CmlRefusalsParts {
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
  /** CML refuses a request for this worker, or accepts it again. */
  onChange(workerId: string): void
}

export interface CmlRefusals
  extends Pick<CmlAccessTracker, 'accessTo' | 'isOutdated' | 'clearPart' | 'problems' | 'forget' | 'clear'> {
  /** The given port; refusals of CML are remembered, logged once and counted. */
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
}

export function cmlRefusals({ cml, logins, clock, logger, meter, onChange }: CmlRefusalsParts): CmlRefusals {
  const gauge = meter.gauge('worker_cml_refused', 'running workers whose CML refuses what LCM needs', ['what'])
  const refusals = cmlAccessTracker(clock, change => {
    say(logger, change)
    measure()
    onChange(change.worker.id)
  })
  const measure = () => {
    for (const [what, count] of refusals.counts()) gauge.set(count, { what })
  }
  const measured = <Args extends readonly unknown[]>(act: (...args: Args) => void) => {
    return (...args: Args) => {
      act(...args)
      measure()
    }
  }
  measure()
  return {
    ...refusals,
    cml: watchedSystem(cml, refusals),
    logins: refusals.watchLogins(logins),
    forget: measured(refusals.forget),
    clear: measured(refusals.clear),
  }
}

function say(logger: Logger, { worker, part, refusal }: CmlAccessChange): void {
  const about = { worker: worker.id, name: worker.name, what: part }
  if (refusal === null) logger.info(about, NOT_REFUSED)
  else logger.warn({ ...about, error: refusal.message }, refusalWords(part))
}

const watchedSystem = (cml: CmlSystem, { watch, report: showed }: CmlAccessTracker): CmlSystem => ({
  ...cml,
  stats: (login, signal) => watch(login, 'system_stats', () => cml.stats(login, signal)),
  health: (login, signal) => watch(login, 'system_health', () => cml.health(login, signal)),
  nodeDefinitions: (login, signal) => watch(login, 'node_definitions', () => cml.nodeDefinitions(login, signal)),
  licensing: (login, signal) => watch(login, 'licensing', () => cml.licensing(login, signal)),
  async activity(login, signal) {
    const activity = await watch(login, 'telemetry', () => cml.activity(login, signal))
    showed(login, 'telemetry_off', activity.is_collected ? null : refusalWords('telemetry_off'))
    return activity
  },
})
