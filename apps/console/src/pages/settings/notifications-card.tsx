import { readList } from '@lcm/client/list-pages'
import type { NotificationTargetView } from '@lcm/contract/notification'
import { toMs } from '@lcm/domain/instant'
import type { Notification } from '@lcm/domain/notification/notification-target'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { useRead } from '../../parts/use-read.ts'
import { failureText } from '../../state/failure-text.ts'
import { dayText, exactText } from '../../state/time-format.ts'
import { NewTargetDialog } from './new-target-dialog.tsx'

const READ_EVERY_MS = 15_000
const EVERY = { everyMs: READ_EVERY_MS }

/** Notification targets, whether they work, and the messages that could not be delivered. */
export function NotificationsCard() {
  const { dialog } = useConsole()
  const targets = useRead(
    'notification-targets',
    (client, signal) => readList(query => client.call('listNotificationTargets', { query, signal })),
    EVERY,
  )
  const dead = useRead(
    'dead-notifications',
    (client, signal) =>
      readList(query => client.call('listNotifications', { query: { ...query, status: 'DEAD' }, signal })),
    EVERY,
  )
  const reload = () => {
    targets.reload()
    dead.reload()
  }
  const open = () => {
    dialog.value = <NewTargetDialog onMade={reload} />
  }
  const items = targets.value?.items ?? []
  const undelivered = dead.value?.items ?? []
  const error = targets.error ?? dead.error
  return (
    <section class="card tokens" aria-labelledby="notifications-title">
      <header class="tokens-head">
        <h2 id="notifications-title">Notifications</h2>
        <p class="muted">Messages by Slack, email or webhook when labs are ready and when something breaks.</p>
        <button type="button" class="button small" onClick={open}>
          <NamedIcon name="plus" />
          Create target
        </button>
      </header>
      {error !== null && <p class="muted">Could not load the notifications: {error}</p>}
      {targets.value !== null && items.length === 0 && <p class="muted">No targets yet.</p>}
      {items.length > 0 && (
        <ul class="token-list">
          {items.map(target => (
            <TargetRow key={target.id} target={target} onChanged={reload} />
          ))}
        </ul>
      )}
      {undelivered.length > 0 && (
        <>
          <h3>Not delivered</h3>
          <ul class="token-list">
            {undelivered.map(notification => (
              <DeadRow key={notification.id} notification={notification} onChanged={reload} />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function TargetRow({ target, onChanged }: { target: NotificationTargetView; onChanged: () => void }) {
  const { client, dialog, notices } = useConsole()
  const { id, name, type, last_success_at, last_error_at, last_error } = target
  const isBroken = last_error_at !== null && (last_success_at === null || last_success_at < last_error_at)
  const test = async () => {
    const { delivered, error } = await client.call('testNotificationTarget', { params: { id } })
    if (delivered) notices.show('done', `${name} accepted the test message`)
    else notices.show('refused', `${name} did not accept the test message`, error ?? '')
  }
  const remove = async () => {
    try {
      await client.call('deleteNotificationTarget', { params: { id } })
      notices.show('done', `Target ${name} deleted`)
    } catch (error) {
      notices.show('refused', `Could not delete ${name}`, failureText(error))
    }
    onChanged()
  }
  const confirm = () => {
    dialog.value = (
      <ConfirmDialog title={`Delete ${name}?`} verb="Delete" typed={name} onConfirm={remove}>
        <p>Messages that wait for this target are not sent.</p>
      </ConfirmDialog>
    )
  }
  return (
    <li class="token">
      <span class="token-name">
        {name}
        <span class="sub">{addressOf(target)}</span>
      </span>
      <span>
        {type}
        <span class="sub">{target.kinds.length === 0 ? 'all kinds' : target.kinds.join(', ')}</span>
      </span>
      {isBroken ? (
        <span class="target-failure tone-red">Failed: {last_error}</span>
      ) : (
        <span class="muted" title={last_success_at === null ? undefined : exactText(toMs(last_success_at))}>
          {last_success_at === null ? 'Nothing delivered yet' : `Delivered ${dayText(toMs(last_success_at))}`}
        </span>
      )}
      <span class="muted">{severityText(target)}</span>
      <span class="row-actions">
        <WorkingButton verb="Test" of={name} run={test} onDone={onChanged} />
        <button type="button" class="button small danger" onClick={confirm}>
          Delete<span class="sr-only"> {name}</span>
        </button>
      </span>
    </li>
  )
}

const addressOf = ({ url_host, to, to_owner }: NotificationTargetView): string =>
  url_host ?? [...to, ...(to_owner ? ['owners of sessions'] : [])].join(', ')

const severityText = ({ min_severity }: NotificationTargetView): string =>
  min_severity === 'info' ? 'Every severity' : min_severity === 'warning' ? 'Warning or worse' : 'Critical only'

function DeadRow({ notification, onChanged }: { notification: Notification; onChanged: () => void }) {
  const { client } = useConsole()
  const { id, title, target_name, created_at, last_error } = notification
  const call = (route: 'retryNotification' | 'deleteNotification') => async () => {
    await client.call(route, { params: { id } })
  }
  return (
    <li class="token">
      <span class="token-name">{title}</span>
      <span>{target_name}</span>
      <span class="muted" title={exactText(toMs(created_at))}>
        {dayText(toMs(created_at))}
      </span>
      <span class="tone-red">{last_error}</span>
      <span class="row-actions">
        <WorkingButton verb="Retry" of={title} run={call('retryNotification')} onDone={onChanged} />
        <WorkingButton verb="Delete" of={title} run={call('deleteNotification')} onDone={onChanged} />
      </span>
    </li>
  )
}

interface WorkingProps {
  readonly verb: string
  readonly of: string
  readonly run: () => Promise<void>
  readonly onDone: () => void
}

function WorkingButton({ verb, of, run, onDone }: WorkingProps) {
  const { notices } = useConsole()
  const isPending = useSignal(false)
  const click = async () => {
    isPending.value = true
    try {
      await run()
    } catch (error) {
      notices.show('refused', `${verb} failed`, failureText(error))
    }
    isPending.value = false
    onDone()
  }
  return (
    <button
      type="button"
      class={`button small ${isPending.value ? 'requested' : ''}`}
      aria-disabled={isPending.value}
      onClick={() => !isPending.value && click()}
    >
      {verb}
      <span class="sr-only"> {of}</span>
    </button>
  )
}
