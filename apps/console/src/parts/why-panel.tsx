import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import type { DecisionRecord } from '@lcm/domain/journal-records'
import type { Next, ServiceState } from '@lcm/domain/next-step'
import type { PlannedAction } from '@lcm/domain/service-instance'
import { actionWords } from '@lcm/domain/text/action-words'
import { durationText } from '@lcm/domain/text/format-amounts'
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Age } from './age.tsx'
import { useConsole } from './console-context.ts'
import { NamedIcon } from './icons.tsx'
import { CodeText } from './sentence.tsx'
import { Timestamp } from './timestamp.tsx'
import { type Read, useRead } from './use-read.ts'

const PAGE = 8
const LIMIT_MAX = 1000

type FleetPlan = AnswerOf<'getFleetPlan'>

interface DecisionPage {
  readonly items: readonly DecisionRecord[]
  readonly next_cursor: string | null
}

/** Inputs of the "next step" besides the resource itself. */
export interface NextInputs {
  readonly decisions: readonly DecisionRecord[]
  readonly services: readonly ServiceState[]
  readonly planOf: (service: string) => PlannedAction | null
  readonly nowMs: number
}

interface WhyProps {
  /** Resource of the decisions, such as `worker:w-1`. */
  readonly resource: string
  readonly next: (inputs: NextInputs) => { readonly text: string; readonly next: Next }
  readonly read: (client: Client, query: { limit: number }, signal: AbortSignal) => Promise<DecisionPage>
}

const READ_EVERY_MS = 10_000

export interface Why extends Pick<WhyProps, 'resource' | 'next'> {
  readonly decisions: Read<DecisionPage>
  readonly services: Read<{ readonly items: readonly ServiceState[] }>
  readonly plan: Read<FleetPlan>
  readonly limit: Signal<number>
}

/** Reads the decisions about one resource, and what its next step depends on. */
export function useWhy({ resource, next, read }: WhyProps): Why {
  const limit = useSignal(PAGE)
  const decisions = useRead(resource, (client, signal) => read(client, { limit: limit.value }, signal), {
    updatesOf: resource,
  })
  const every = { everyMs: READ_EVERY_MS }
  const services = useRead('services', (client, signal) => client.call('listServices', { signal }), every)
  const plan = useRead('plan', (client, signal) => client.call('getFleetPlan', { signal }), every)
  return { resource, next, decisions, services, plan, limit }
}

/** The next step, or what blocks it. Renders every second, so that the page around it need not. */
export function NextStep({ why: { resource, next, decisions, services, plan } }: { why: Why }) {
  const { nowMs } = useConsole()
  if (decisions.value === null || services.value === null || plan.value === null) return null
  const { items } = plan.value
  const planOf = (service: string) => items.find(item => item.service === service && item.resource === resource) ?? null
  const known = { decisions: decisions.value.items, services: services.value.items, planOf, nowMs: nowMs.value }
  const step = next(known)
  const isBlocked = step.next.blocked_by?.kind === 'block'
  return (
    <p class={`why-next ${isBlocked ? 'callout tone-orange' : ''}`}>
      <strong>Next</strong> <CodeText text={step.text} />
    </p>
  )
}

/** Decisions about one resource, newest first, with their reasons, observations and guards. */
export function WhyPanel({ why, hasNext }: { why: Why; hasNext: boolean }) {
  const { decisions, limit } = why
  const items = decisions.value?.items ?? []
  return (
    <section class="card why" aria-labelledby="why-title">
      <h2 id="why-title">Why</h2>
      {hasNext && <NextStep why={why} />}
      {decisions.error !== null && <WhyFailed error={decisions.error} onRetry={decisions.reload} />}
      {decisions.value === null && decisions.error === null && <p class="muted">Loading decisions…</p>}
      {decisions.value !== null && items.length === 0 && <p class="muted">No decisions yet.</p>}
      <ol class="why-chain">
        {items.map((decision, index) => (
          <Decision key={decision.id} decision={decision} isNewest={index === 0} />
        ))}
      </ol>
      {decisions.value?.next_cursor != null && limit.value < LIMIT_MAX && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            limit.value = Math.min(LIMIT_MAX, limit.value * 3)
          }}
        >
          Show more<span class="sr-only"> decisions</span>
        </button>
      )}
    </section>
  )
}

const WhyFailed = ({ error, onRetry }: { error: string; onRetry: () => void }) => (
  <p class="read-failed" role="alert">
    Could not load the decisions: {error}{' '}
    <button type="button" class="button small" onClick={onRetry}>
      Try again
    </button>
  </p>
)

function Decision({ decision, isNewest }: { decision: DecisionRecord; isNewest: boolean }) {
  const { at, action, because, outcome, service } = decision
  return (
    <li class="decision">
      <p class="decision-head">
        <strong class="decision-action" title={action}>
          {actionWords(action)}
        </strong>
        <span class="muted">
          <Age since={at} /> ago
        </span>
      </p>
      <p class="decision-because" title={because.code}>
        {because.message}
      </p>
      {outcome !== '' && (
        <p class="decision-outcome">
          <NamedIcon name="arrow" />
          <span class="sr-only">Outcome: </span>
          {outcome}
        </p>
      )}
      <Guards guards={decision.guards} />
      <details open={isNewest && decision.guards.length === 0 && Object.keys(decision.seen).length < 6}>
        <summary>
          Observed <span class="muted">by {service}</span>
        </summary>
        <Seen decision={decision} />
      </details>
    </li>
  )
}

const valueText = (value: string | number | boolean | null): string => (value === null ? 'unknown' : String(value))
const wordsOf = (name: string): string => name.replaceAll('_', ' ')

/** Failed guards are always listed; more passed guards than this are collapsed. */
const PASSED_SHOWN_MAX = 3

function Guards({ guards }: { guards: DecisionRecord['guards'] }) {
  const passed = guards.filter(guard => guard.passed)
  const isFolded = passed.length > PASSED_SHOWN_MAX
  return (
    <>
      <GuardList guards={isFolded ? guards.filter(guard => !guard.passed) : guards} />
      {isFolded && (
        <details>
          <summary>{passed.length} guards passed</summary>
          <GuardList guards={passed} />
        </details>
      )}
    </>
  )
}

/** Shows icon and word, never color alone. */
const GuardList = ({ guards }: { guards: DecisionRecord['guards'] }) =>
  guards.length === 0 ? null : (
    <ul class="guards">
      {guards.map(({ name, value, limit, passed }) => (
        <li key={name} class={passed ? 'passed' : 'held'}>
          <NamedIcon name={passed ? 'check' : 'close'} />
          <span>{wordsOf(name)}</span>
          <span class="number">
            {valueText(value)} <span class="muted">limit {valueText(limit)}</span>
          </span>
          <span class="guard-result">{passed ? 'passed' : 'failed'}</span>
        </li>
      ))}
    </ul>
  )

function Seen({ decision }: { decision: DecisionRecord }) {
  const { at, cause, epoch, duration_ms, seen } = decision
  const facts: (readonly [string, ComponentChildren])[] = [
    ...Object.entries(seen).map(([name, value]) => [wordsOf(name), valueText(value)] as const),
    ['cause', cause === '' ? 'unknown' : cause],
    ['term', String(epoch)],
    ['took', duration_ms < 1000 ? `${Math.round(duration_ms)} ms` : durationText(duration_ms)],
    ['at', <Timestamp at={at} />],
  ]
  return (
    <dl class="seen">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
