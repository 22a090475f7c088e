import type { Client } from '@lcm/client/client'
import type { Info } from '../../state/live-state.ts'
import { isAllowed } from '../../state/permission.ts'
import type { Requests } from '../../state/request-tracker.ts'
import type { Definition } from './definition-groups.ts'

export const DEFINITION_ACTIONS = ['preview', 'edit', 'sync', 'deprecate', 'delete'] as const
export type DefinitionAction = (typeof DEFINITION_ACTIONS)[number]

interface ActionText {
  readonly label: string
  /** Completes "Could not …", before the definition's name. */
  readonly verb: string
  readonly help: string
}

export const ACTION_TEXTS: Readonly<Record<DefinitionAction, ActionText>> = {
  preview: { label: 'Preview…', verb: 'preview', help: 'Show where a session would be placed now' },
  edit: { label: 'New version…', verb: 'change', help: 'Create a new version; booked sessions keep the old one' },
  sync: { label: 'Sync', verb: 'sync', help: 'Fetch the topology again' },
  deprecate: { label: 'Deprecate…', verb: 'deprecate', help: 'Stop new bookings' },
  delete: { label: 'Delete…', verb: 'delete', help: 'Delete the definition permanently' },
}

/** Actions that the user may request now. */
export function availableActions(definition: Definition, info: Info | null): DefinitionAction[] {
  const { status, source } = definition
  const isOver = status === 'DEPRECATED'
  const isAuthor = isAllowed(info, 'putDefinition')
  return [
    'preview' as const,
    ...(isAuthor && !isOver ? (['edit'] as const) : []),
    ...(isAuthor && !isOver && source !== 'inline' ? (['sync'] as const) : []),
    ...(isAuthor && !isOver ? (['deprecate'] as const) : []),
    ...(isAuthor && isOver ? (['delete'] as const) : []),
  ]
}

/** Actions that need no form. */
export const requestDefinitionAction = (
  requests: Requests,
  definition: Definition,
  action: 'sync' | 'deprecate' | 'delete',
): Promise<boolean> =>
  requests.send(
    { kind: 'definition', id: definition.id, name: fullName(definition) },
    ACTION_TEXTS[action].verb,
    client => sendAction(client, definition, action),
  )

export const fullName = ({ name, definition_version }: Definition): string => `${name} ${definition_version}`

async function sendAction(client: Client, { id, version }: Definition, action: 'sync' | 'deprecate' | 'delete') {
  const params = { id }
  if (action === 'sync') return client.call('syncDefinition', { params, body: {} })
  if (action === 'deprecate') return client.call('deprecateDefinition', { params, body: {} })
  await client.call('deleteDefinition', { params })
  // A deleted definition has no next version: the request is complete when it disappears.
  return { version: version + 1 }
}
