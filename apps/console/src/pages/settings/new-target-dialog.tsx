import type { BodyInput } from '@lcm/contract/routes'
import { NOTIFICATION_KINDS, SEVERITIES, TARGET_TYPES } from '@lcm/domain/notification/notification-target'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { SelectField, TextField } from '../../parts/dialog/fields.tsx'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'

const ALL = 'all'
const OWNERS = ['no', 'yes'] as const

interface Draft {
  readonly name: Signal<string>
  readonly type: Signal<string>
  readonly url: Signal<string>
  readonly to: Signal<string>
  readonly toOwner: Signal<string>
  readonly kind: Signal<string>
  readonly severity: Signal<string>
}

export function NewTargetDialog({ onMade }: { onMade: () => void }) {
  const { client } = useConsole()
  const draft: Draft = {
    name: useSignal(''),
    type: useSignal<string>('slack'),
    url: useSignal(''),
    to: useSignal(''),
    toOwner: useSignal<string>('no'),
    kind: useSignal<string>(ALL),
    severity: useSignal<string>('info'),
  }
  const isEmail = draft.type.value === 'email'
  const address = isEmail
    ? draft.to.value.trim() !== '' || draft.toOwner.value === 'yes'
    : draft.url.value.trim() !== ''
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
          <SelectField label="Also write to the owner of each session" chosen={draft.toOwner} options={OWNERS} />
        </>
      ) : (
        <TextField label="URL" note="never shown again" value={draft.url} isSecret placeholder="https://" />
      )}
      <SelectField label="Kind" chosen={draft.kind} options={[ALL, ...NOTIFICATION_KINDS]} />
      <SelectField label="Lowest severity" chosen={draft.severity} options={SEVERITIES} />
    </FormDialog>
  )
}

function bodyOf(draft: Draft): BodyInput<'createNotificationTarget'> {
  const type = TARGET_TYPES.find(each => each === draft.type.value) ?? 'slack'
  const kinds = NOTIFICATION_KINDS.filter(each => each === draft.kind.value)
  const min_severity = SEVERITIES.find(each => each === draft.severity.value) ?? 'info'
  const body = { name: draft.name.value.trim(), type, kinds, min_severity }
  if (type !== 'email') return { ...body, url: draft.url.value.trim() }
  const to = draft.to.value.split(',').map(each => each.trim())
  return { ...body, to: to.filter(each => each !== ''), to_owner: draft.toOwner.value === 'yes' }
}
