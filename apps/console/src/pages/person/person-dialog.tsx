import type { Person, PersonRole } from '@lcm/domain/person'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { SelectField, TextField } from '../../parts/dialog/fields.tsx'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'
import { groupsIn, rolesFor } from './person-list.ts'

interface Draft {
  readonly name: Signal<string>
  readonly email: Signal<string>
  readonly role: Signal<string>
  readonly groups: Signal<string>
}

/** Creates a person, or edits the given one. */
export function PersonDialog({ person, onSaved }: { person: Person | null; onSaved: (person: Person) => void }) {
  const { client, state } = useConsole()
  const draft: Draft = {
    name: useSignal(person?.name ?? ''),
    email: useSignal(person?.email ?? ''),
    role: useSignal<string>(person?.role ?? 'user'),
    groups: useSignal(person?.groups.join(', ') ?? ''),
  }
  const roles = state.info.value === null ? [] : rolesFor(state.info.value.actor)
  const send = async () => {
    const body = bodyOf(draft, roles)
    const call = { ...(person === null ? {} : { ifMatch: person.version }), body }
    const saved = await (person === null
      ? client.call('createPerson', call)
      : client.call('patchPerson', { params: { id: person.id }, ...call }))
    onSaved(saved)
  }
  const verb = person === null ? 'Create person' : 'Save'
  return (
    <FormDialog
      title={person === null ? 'Create person' : `Edit ${person.name}`}
      verb={verb}
      isComplete={draft.name.value.trim() !== ''}
      send={send}
    >
      <TextField label="Name" value={draft.name} maxLength={255} />
      <TextField label="Email" note="optional" value={draft.email} maxLength={254} />
      <SelectField label="Role" chosen={draft.role} options={roles} />
      <TextField label="Groups" note="optional, separated by commas" value={draft.groups} />
      {person !== null && draft.role.value !== person.role && (
        <p class="muted">A new role applies to all tokens and ends all sign-ins of {person.name}.</p>
      )}
    </FormDialog>
  )
}

const bodyOf = ({ name, email, role, groups }: Draft, roles: readonly PersonRole[]) => ({
  name: name.value.trim(),
  email: email.value.trim() === '' ? null : email.value.trim(),
  role: roles.find(each => each === role.value) ?? 'user',
  groups: groupsIn(groups.value),
})
