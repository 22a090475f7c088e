import { durationText } from '@lcm/domain/text/format-amounts'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon, ShapeIcon } from '../../parts/icons.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { TableHead } from '../../parts/table/table-head.tsx'
import { isAllowed } from '../../state/permission.ts'
import {
  type Health,
  healthOf,
  problemsOf,
  type Replica,
  type ReplicaRole,
  roleOf,
  type Service,
} from './service-health.ts'
import type { LeaderRequests } from './use-leader-requests.ts'

const COLUMNS = ['Replica', 'Role', 'Term', 'Queue', 'Retries', 'Watch', 'Last sweep', 'Last seen']

interface CardProps {
  readonly service: Service
  readonly requests: LeaderRequests
}

export function ServiceCard({ service, requests }: CardProps) {
  const { nowMs } = useConsole()
  const { leader, instances } = service
  const titleId = `service-${service.service}`
  return (
    <section class="card service" aria-labelledby={titleId}>
      <header class="service-head">
        <h2 id={titleId}>{service.service}</h2>
        <HealthBadge verdict={healthOf(service, nowMs.value)} />
        <LeaderButtons service={service} requests={requests} />
        <p class="muted">
          {leader === null ? (
            'No leader: no decisions are made until a replica becomes leader.'
          ) : (
            <>
              term <span class="number">{leader.epoch}</span>
              {leader.since !== null && (
                <>
                  {' '}
                  for <Age since={leader.since} />
                </>
              )}
            </>
          )}
        </p>
      </header>
      {instances.length > 0 && <Replicas service={service} />}
    </section>
  )
}

const HEALTH_SHAPES = { green: 'done', orange: 'alarm', red: 'alarm' } as const

const HealthBadge = ({ verdict: { tone, text } }: { verdict: Health }) => (
  <span class={`badge tone-${tone}`}>
    <ShapeIcon shape={HEALTH_SHAPES[tone]} />
    {text}
  </span>
)

const Replicas = ({ service }: { service: Service }) => (
  <ScrollBox label={`Replicas of ${service.service}`}>
    <table class="data-table replicas">
      <TableHead columns={COLUMNS} />
      <tbody>
        {service.instances.map(replica => (
          <ReplicaRow key={replica.id} replica={replica} service={service} />
        ))}
      </tbody>
    </table>
  </ScrollBox>
)

const ROLE_TEXTS: Readonly<Record<ReplicaRole, string>> = {
  leader: 'leader',
  standby: 'standby',
  deposed: 'deposed',
}

function ReplicaRow({ replica, service }: { replica: Replica; service: Service }) {
  const { nowMs } = useConsole()
  const role = roleOf(replica, service)
  const troubles = problemsOf(replica, service, nowMs.value)
  return (
    <tr class={troubles.length > 0 ? 'troubled' : ''}>
      <th scope="row">
        <span class="mono">{replica.instance_id}</span>
        <span class="sub">LCM {replica.software}</span>
        {troubles.map(trouble => (
          <span key={trouble} class="trouble tone-orange">
            <ShapeIcon shape="alarm" /> {trouble}
          </span>
        ))}
      </th>
      <td data-label="Role">
        <span class={`role ${role}`}>
          {role === 'leader' && <NamedIcon name="check" />} {ROLE_TEXTS[role]}
        </span>
      </td>
      <td class="number" data-label="Term">
        {replica.epoch}
        <span class="sub">{replica.since === null ? '' : <Age since={replica.since} />}</span>
      </td>
      <td class="number" data-label="Queue">
        {replica.queue.due} queued
        <span class="sub">{replica.queue.active} active</span>
      </td>
      <td class="number" data-label="Retries">
        {replica.retries}
      </td>
      <td data-label="Watch">
        {replica.watch.healthy ? 'connected' : 'disconnected'}
        <span class="sub number">{watchAge(replica)}</span>
      </td>
      <td data-label="Last sweep">
        {replica.last_sweep === null ? <span class="muted">none yet</span> : <Ago since={replica.last_sweep} />}
      </td>
      <td data-label="Last seen">
        <Ago since={replica.seen_at} />
      </td>
    </tr>
  )
}

const Ago = ({ since }: { since: string }) => (
  <>
    <Age since={since} /> ago
  </>
)

const watchAge = ({ watch: { age_seconds } }: Replica): string =>
  age_seconds === null ? 'never' : `${durationText(age_seconds * 1000)} ago`

function LeaderButtons({ service, requests }: CardProps) {
  const { state, dialog } = useConsole()
  if (!isAllowed(state.info.value, 'triggerService')) return null
  const pending = requests.pendingOf(service)
  const isDisabled = pending !== null || service.leader === null
  const disabledReason = service.leader === null ? 'There is no leader' : null
  return (
    <span class="actions">
      <button
        type="button"
        class={`button small ${pending?.what === 'trigger' ? 'requested' : ''}`}
        aria-disabled={isDisabled}
        title={disabledReason ?? 'Reconcile everything now'}
        onClick={() => !isDisabled && requests.send(service, 'trigger')}
      >
        {pending?.what === 'trigger' ? 'Triggering…' : 'Trigger'}
        <span class="sr-only"> {service.service}</span>
      </button>
      <button
        type="button"
        class={`button small ${pending?.what === 'resign' ? 'requested' : ''}`}
        aria-disabled={isDisabled}
        title={disabledReason ?? 'Hand leadership over to another replica'}
        onClick={() => {
          if (!isDisabled) dialog.value = <ResignDialog service={service} requests={requests} />
        }}
      >
        {pending?.what === 'resign' ? 'Resigning…' : 'Resign…'}
        <span class="sr-only"> {service.service}</span>
      </button>
    </span>
  )
}

function ResignDialog({ service, requests }: CardProps) {
  const others = service.instances.length - 1
  return (
    <ConfirmDialog
      title={`Resign the leader of ${service.service}?`}
      verb="Resign"
      typed={null}
      onConfirm={() => requests.send(service, 'resign')}
    >
      <p>
        The leader finishes its active work and ends its term.{' '}
        {others > 0
          ? 'Another replica takes over within seconds.'
          : 'There is no standby replica, so the same one becomes leader again in a new term.'}
      </p>
    </ConfirmDialog>
  )
}
