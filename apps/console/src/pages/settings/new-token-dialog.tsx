import type { AnswerOf, BodyInput } from '@lcm/contract/routes'
import { ROLES, SERVICES } from '@lcm/domain/actor'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { SelectField, TextField } from '../../parts/dialog/fields.tsx'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'
import { EXPIRIES, expiryAt } from './token-expiry.ts'

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

interface Draft {
  readonly name: Signal<string>
  readonly role: Signal<string>
  readonly service: Signal<string>
  readonly expiry: Signal<string>
}

export function NewTokenDialog({ onMade }: { onMade: (token: AnswerOf<'createToken'>) => void }) {
  const { client, nowMs } = useConsole()
  const draft: Draft = {
    name: useSignal(''),
    role: useSignal('operator'),
    service: useSignal<string>(CONTROLLERS[0] ?? ''),
    expiry: useSignal('in 90 days'),
  }
  return (
    <FormDialog
      title="Create token"
      verb="Create token"
      isComplete={draft.name.value.trim() !== ''}
      send={async () => onMade(await client.call('createToken', { body: bodyOf(draft, nowMs.peek()) }))}
    >
      <TextField label="Name" value={draft.name} maxLength={64} placeholder="what it is for" />
      <SelectField label="Role" chosen={draft.role} options={ROLES} />
      {draft.role.value === 'controller' && (
        <SelectField label="Service" chosen={draft.service} options={CONTROLLERS} />
      )}
      <SelectField label="Expires" chosen={draft.expiry} options={EXPIRIES.map(({ name }) => name)} />
    </FormDialog>
  )
}

function bodyOf({ name, role, service, expiry }: Draft, nowMs: number): BodyInput<'createToken'> {
  const expires_at = expiryAt(expiry.value, nowMs)
  const chosen = ROLES.find(each => each === role.value) ?? 'user'
  const of = chosen === 'controller' ? SERVICES.find(each => each === service.value) : undefined
  return {
    name: name.value.trim(),
    role: chosen,
    ...(of === undefined ? {} : { service: of }),
    ...(expires_at === null ? {} : { expires_at }),
  }
}
