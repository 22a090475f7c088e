import { affectedSessions } from '@lcm/domain/fleet/affected-sessions'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { learnerLine } from '@lcm/domain/text/learner-text'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { Worker } from '@lcm/domain/worker/worker'
import { useSignal } from '@preact/signals'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon, StatusIcon } from '../../parts/icons.tsx'
import { CodeText } from '../../parts/sentence.tsx'
import { SessionBadge, shownStatus } from '../../parts/status/status-badge.tsx'
import { type Read, useRead } from '../../parts/use-read.ts'
import { failureText } from '../../state/failure-text.ts'
import { canSeeAllSessions, isAllowed } from '../../state/permission.ts'
import { sessionHash } from '../../state/router.ts'
import { learnerTextOf } from '../session/session-text.ts'
import { AffectedList } from './affected-sessions-list.tsx'
import { type Attention, type AttentionGroup, attentionOf, groupsOf } from './attention-items.ts'
import { readLeaks } from './read-license-leaks.ts'

const READ_EVERY_MS = 10_000
/** The API compares everything that is booked. */
const WARNINGS_EVERY_MS = 60_000

interface AttentionProps {
  readonly workers: readonly Worker[]
  readonly sessions: readonly LabletSession[]
  readonly nowMs: number
}

/** Learners read about their own sessions only: nothing else is theirs to fix. */
export function LearnersAttentionCard({ sessions, nowMs }: Pick<AttentionProps, 'sessions' | 'nowMs'>) {
  const items = sessions.flatMap(session => {
    const text = learnerTextOf(session, nowMs)
    return text === null ? [] : [{ session, text }]
  })
  if (items.length === 0) return null
  return (
    <section class="card attention some" aria-labelledby="attention-title">
      <header class="attention-head">
        <h2 id="attention-title">Your sessions</h2>
      </header>
      <ul class="affected-list">
        {items.map(({ session, text }) => (
          <li key={session.id} class={`affected tone-${toneOf(shownStatus(session.status, session.health))}`}>
            <p class="affected-headline">
              <a href={sessionHash(session.id)}>{session.definition.name}</a> <SessionBadge session={session} />
            </p>
            <p>{learnerLine(text)}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function AttentionCard({ workers, sessions, nowMs }: AttentionProps) {
  const { state } = useConsole()
  const { live } = state
  const every = { everyMs: READ_EVERY_MS }
  const services = useRead('services', (client, signal) => client.call('listServices', { signal }), every)
  const leaks = useRead('leaks', readLeaks, every)
  const warnings = useRead(
    'warnings',
    async (client, signal) =>
      isAllowed(state.info.value, 'getFleetWarnings') ? client.call('getFleetWarnings', { signal }) : null,
    {
      everyMs: WARNINGS_EVERY_MS,
    },
  )
  const groups = affectedSessions(sessions)
  const items = attentionOf({
    workers,
    sessions,
    affected: groups,
    definitions: live.definition.all().values(),
    labs: live.lab.all().values(),
    services: services.value?.items ?? null,
    leaks: leaks.value?.items ?? [],
    warnings: warnings.value?.items ?? [],
    nowMs,
  })
  const count = items.length + groups.length
  const isKnown = services.value !== null && leaks.value !== null
  return (
    <section class={`card attention ${count > 0 ? 'some' : ''}`} aria-labelledby="attention-title">
      <header class="attention-head">
        <h2 id="attention-title">Needs attention {count > 0 && <span class="number attention-count">{count}</span>}</h2>
        {count === 0 && isKnown && <NoIssues seesAll={canSeeAllSessions(state.info.value)} />}
        {count === 0 && !isKnown && services.error === null && leaks.error === null && <p class="muted">Loading…</p>}
        <Unread reads={[services, leaks, warnings]} />
      </header>
      {groups.length > 0 && <AffectedList groups={groups} />}
      {items.length > 0 && (
        <ul class="attention-list">
          {groupsOf(items).map(group => (
            <Group key={group.what} group={group} onResolved={leaks.reload} />
          ))}
        </ul>
      )}
    </section>
  )
}

const NoIssues = ({ seesAll }: { seesAll: boolean }) => (
  <p class="all-well tone-green">
    <StatusIcon status="RUNNING" />
    No problems: nothing failed or is stuck, and {seesAll ? 'no session' : 'none of your sessions'} is waiting.
  </p>
)

/** A failed read must not look like "no problems". */
function Unread({ reads }: { reads: readonly Read<unknown>[] }) {
  const error = reads.find(read => read.error !== null)?.error ?? null
  if (error === null) return null
  return <p class="muted">Could not load controllers, licenses and warnings: {error}</p>
}

const Group = ({ group, onResolved }: { group: AttentionGroup; onResolved: () => void }) => (
  <>
    {group.shown.map(item => (
      <Item key={item.key} item={item} onResolved={onResolved} />
    ))}
    {group.moreCount > 0 && (
      <li class="attention-more">
        <a href={group.moreHref}>
          {group.moreCount} more: {group.what}
        </a>
      </li>
    )}
  </>
)

const Item = ({ item, onResolved }: { item: Attention; onResolved: () => void }) => (
  <li class={`attention-item tone-${item.urgency === 'alarm' ? 'red' : 'orange'}`}>
    <span class="attention-what">
      <StatusIcon status={item.urgency === 'alarm' ? 'FAILED' : 'PENDING'} />
      {item.what}
    </span>
    <a class="attention-name" href={item.href}>
      {item.name}
    </a>
    <span class="attention-text">
      <CodeText text={item.text} />
    </span>
    <span class="attention-end muted">
      {item.since !== null && <Age since={item.since} />}
      {item.leak !== null && <ResolveButton leak={item.leak} onResolved={onResolved} />}
    </span>
  </li>
)

/** A leak stays listed until the API confirms that it is resolved. */
function ResolveButton({ leak, onResolved }: { leak: LicenseLeak; onResolved: () => void }) {
  const { state, client, dialog, notices } = useConsole()
  const isPending = useSignal(false)
  if (!isAllowed(state.info.value, 'resolveLicenseLeak')) return null
  const resolve = async () => {
    isPending.value = true
    try {
      await client.call('resolveLicenseLeak', { params: { id: leak.id }, body: {} })
      onResolved()
    } catch (error) {
      notices.show('refused', `Could not resolve the leak of ${leak.worker_name}`, failureText(error))
      isPending.value = false
    }
  }
  const confirm = () => {
    dialog.value = <ResolveDialog leak={leak} onConfirm={resolve} />
  }
  return (
    <button type="button" class={`button small ${isPending.value ? 'requested' : ''}`} onClick={confirm}>
      {isPending.value ? (
        'Resolving…'
      ) : (
        <>
          <NamedIcon name="check" />
          Resolve
        </>
      )}
      <span class="sr-only"> {leak.worker_name}</span>
    </button>
  )
}

const ResolveDialog = ({ leak, onConfirm }: { leak: LicenseLeak; onConfirm: () => void }) => (
  <ConfirmDialog title="Mark this license as released?" verb="Mark as released" typed={null} onConfirm={onConfirm}>
    <p>
      <strong>{leak.worker_name}</strong> was removed before its license was released: {leak.reason.message}. Release
      the license in your Smart Licensing account first, then confirm it here.
    </p>
    <p class="muted">
      {[leak.product, leak.hostname, leak.udi].filter(Boolean).join(' · ') || 'No further details are known.'}
    </p>
  </ConfirmDialog>
)
