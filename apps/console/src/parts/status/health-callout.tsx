import type { Health } from '@lcm/domain/health'
import type { Reason } from '@lcm/domain/reason'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { ComponentChildren } from 'preact'
import { Age } from '../age.tsx'
import { StatusIcon } from '../icons.tsx'
import { Sentence } from '../sentence.tsx'

interface HealthCalloutProps {
  readonly health: Health
  /** What an operator can do; null while LCM does what is needed. */
  readonly fix: Reason | null
  /** What happens next. */
  readonly children: ComponentChildren
}

/** Why a resource is not OK, since when, and what happens next. On top of its page. */
export const HealthCallout = ({ health, fix, children }: HealthCalloutProps) =>
  health.status === 'OK' ? null : (
    <section class={`callout health tone-${toneOf(health.status)}`} aria-labelledby="health-title">
      <h2 id="health-title">
        <StatusIcon status={health.status} />
        {health.status}
        {health.since !== null && (
          <span>
            for <Age since={health.since} />
          </span>
        )}
      </h2>
      {health.reason !== null && (
        <p title={health.reason.code}>
          <Sentence text={health.reason.message} />
        </p>
      )}
      {fix !== null && (
        <p>
          <strong>What you can do</strong> <Sentence text={fix.message} />
        </p>
      )}
      {children}
    </section>
  )
