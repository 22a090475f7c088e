import type { BodyInput } from '@lcm/contract/routes'
import {
  NOTIFICATION_KINDS,
  type NotificationKind,
  SEVERITIES,
  type Severity,
  TARGET_TYPES,
  type TargetType,
} from '@lcm/domain/notification/notification-target'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { SelectField, TextField } from '../../parts/dialog/fields.tsx'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'

const ALL = 'all'

interface Draft {
  readonly name: Signal<string>
  readonly type: Signal<TargetType>
  readonly url: Signal<string>
  readonly to: Signal<string>
  readonly toOwner: Signal<boolean>
  readonly kind: Signal<NotificationKind | typeof ALL>
  readonly severity: Signal<Severity>
}

export function NewTargetDialog({ onMade }: { onMade: () => void }) {
  const { client } = useConsole()
  const draft: Draft = {
    name: useSignal(''),
    type: useSignal<TargetType>('slack'),
    url: useSignal(''),
    to: useSignal(''),
    toOwner: useSignal(false),
    kind: useSignal<NotificationKind | typeof ALL>(ALL),
    severity: useSignal<Severity>('info'),
  }
  const isEmail = draft.type.value === 'email'
  const address = isEmail ? draft.to.value.trim() !== '' || draft.toOwner.value : draft.url.value.trim() !== ''
  const send = async () => {
    await client.call('createNotificationTarget', { body: bodyOf(draft) })
    onMade()
  }
  return (
    <FormDialog
      title="Create notification target"
      verb="Create target"
      isComplete={draft.name.value.trim() !== '' && address}
      send={send}
    >
      <TextField label="Name" value={draft.name} maxLength={63} placeholder="operators" />
      <SelectField label="Type" chosen={draft.type} options={TARGET_TYPES} />
      {isEmail ? (
        <>
          <TextField label="To" note="addresses, separated by commas" value={draft.to} />
          <label class="check">
            <input
              type="checkbox"
              checked={draft.toOwner}
              onChange={event => {
                draft.toOwner.value = event.currentTarget.checked
              }}
            />
            <span>Also write to the owner of each session</span>
          </label>
        </>
      ) : (
        <TextField label="URL" note="never shown again" value={draft.url} isSecret placeholder="https://" />
      )}
      <SelectField label="Kind" chosen={draft.kind} options={[ALL, ...NOTIFICATION_KINDS]} />
      <SelectField label="Lowest severity" chosen={draft.severity} options={SEVERITIES} />
    </FormDialog>
  )
}

function bodyOf({ name, type, kind, severity, ...draft }: Draft): BodyInput<'createNotificationTarget'> {
  const kinds = kind.value === ALL ? [] : [kind.value]
  const body = { name: name.value.trim(), type: type.value, kinds, min_severity: severity.value }
  if (type.value !== 'email') return { ...body, url: draft.url.value.trim() }
  const to = draft.to.value.split(',').map(each => each.trim())
  return { ...body, to: to.filter(each => each !== ''), to_owner: draft.toOwner.value }
}
