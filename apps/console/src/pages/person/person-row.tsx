import type { AnswerOf } from '@lcm/contract/routes'
import type { Person } from '@lcm/domain/person'
import type { VNode } from 'preact'
import { type ConsoleParts, useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { Menu, type MenuItem } from '../../parts/dialog/menu.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { failureText } from '../../state/failure-text.ts'
import { PersonDialog } from './person-dialog.tsx'
import { PERSON_ACTIONS, type PersonAction, refusalOf } from './person-list.ts'

interface RowProps {
  readonly person: Person
  readonly onChanged: () => void
  readonly onInvited: (person: Person, link: AnswerOf<'invitePerson'>) => void
}

export const PersonRow = (props: RowProps) => {
  const { id, name, email, role, groups, source, merging_into } = props.person
  return (
    <li class={`person ${merging_into === null ? '' : 'over'}`}>
      <span class="person-name">
        {name}
        <span class="sub mono">{id}</span>
      </span>
      <span>
        {role}
        <span class="sub">{merging_into === null ? SOURCES[source] : `Merging into ${merging_into}`}</span>
      </span>
      <span class="muted person-email">{email ?? 'No email address'}</span>
      <span class="muted">{groups.length === 0 ? 'No groups' : groups.join(', ')}</span>
      <ActionsButton {...props} />
    </li>
  )
}

const SOURCES: Readonly<Record<Person['source'], string>> = {
  operator: 'Created here',
  token: 'Created with a token',
  provider: 'Identity provider',
  'built-in': 'Administrator token',
}

const TEXTS: Readonly<Record<PersonAction, Pick<MenuItem, 'label' | 'help' | 'isDanger'>>> = {
  invite: { label: 'Invite', help: 'Create a link that signs this person in once', isDanger: false },
  edit: { label: 'Edit', help: 'Change name, email, role or groups', isDanger: false },
  revoke: { label: 'Revoke access', help: 'End all tokens and sign-ins; sessions continue', isDanger: true },
  remove: { label: 'Remove', help: 'Remove the person with all tokens and sign-ins', isDanger: true },
}

function ActionsButton({ person, onChanged, onInvited }: RowProps) {
  const parts = useConsole()
  const { dialog, state } = parts
  const actor = state.info.value?.actor
  const begin: Readonly<Record<PersonAction, () => void>> = {
    invite: () => invite(person, parts, onInvited),
    edit: () => {
      dialog.value = <PersonDialog person={person} onSaved={onChanged} />
    },
    revoke: () => {
      dialog.value = revokeDialog(person, parts, onChanged)
    },
    remove: () => {
      dialog.value = removeDialog(person, parts, onChanged)
    },
  }
  const open = (anchor: Element) => {
    if (actor === undefined) return
    const items = PERSON_ACTIONS.map(action => ({
      key: action,
      ...TEXTS[action],
      disabledReason: refusalOf(action, person, actor),
      onPick: begin[action],
    }))
    dialog.value = <Menu label={`Actions for ${person.name}`} anchor={anchor} items={items} />
  }
  return (
    <button
      type="button"
      class="button small icon-only"
      aria-haspopup="dialog"
      aria-label={`Actions for ${person.name}`}
      title="Actions"
      onClick={event => open(event.currentTarget)}
    >
      <NamedIcon name="more" />
    </button>
  )
}

async function invite(person: Person, { client, notices }: ConsoleParts, onInvited: RowProps['onInvited']) {
  try {
    onInvited(person, await client.call('invitePerson', { params: { id: person.id } }))
  } catch (error) {
    notices.show('refused', `Could not invite ${person.name}`, failureText(error))
  }
}

async function perform(
  texts: { done: string; failed: string },
  { notices }: ConsoleParts,
  work: () => Promise<unknown>,
) {
  try {
    await work()
    notices.show('done', texts.done)
  } catch (error) {
    notices.show('refused', texts.failed, failureText(error))
  }
}

function revokeDialog({ id, name }: Person, parts: ConsoleParts, onChanged: () => void): VNode {
  const texts = { done: `Access of ${name} revoked`, failed: `Could not revoke the access of ${name}` }
  const work = () => parts.client.call('revokePerson', { params: { id } })
  const revoke = () => void perform(texts, parts, work).then(onChanged)
  return (
    <ConfirmDialog title={`Revoke access of ${name}?`} verb="Revoke access" typed={null} onConfirm={revoke}>
      <p>All tokens of {name} are deleted and all sign-ins end within seconds. Lab sessions continue.</p>
      {parts.state.info.value?.actor.id === id && (
        <p>
          <strong>This is you, so you will be signed out.</strong>
        </p>
      )}
    </ConfirmDialog>
  )
}

function removeDialog({ id, name }: Person, parts: ConsoleParts, onChanged: () => void): VNode {
  const texts = { done: `${name} removed`, failed: `Could not remove ${name}` }
  const work = () => parts.client.call('removePerson', { params: { id } })
  const remove = () => void perform(texts, parts, work).then(onChanged)
  return (
    <ConfirmDialog title={`Remove ${name}?`} verb="Remove" typed={name} onConfirm={remove}>
      <p>All tokens and sign-ins are deleted too. This can't be undone. Open sessions must be canceled first.</p>
    </ConfirmDialog>
  )
}
