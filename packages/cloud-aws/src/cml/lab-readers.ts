import type { CmlLab, CmlNode } from '@lcm/cloud/cml-labs'
import { fieldOf, instantIn, listOf, numberIn, textIn } from './json-readers.ts'

/** Null when the response lacks the state. */
export function labIn(answer: unknown, labId: string): CmlLab | null {
  const state = textIn(answer, 'state')
  if (state === null) return null
  return {
    lab_id: labId,
    title: textIn(answer, 'lab_title') ?? '',
    owner: textIn(answer, 'owner_username') ?? textIn(answer, 'owner'),
    state,
    node_count: numberIn(answer, 'node_count'),
    link_count: numberIn(answer, 'link_count'),
    created: instantIn(answer, 'created'),
    modified: instantIn(answer, 'modified'),
  }
}

/** Null without an id or a state. */
export function nodeIn(value: unknown): CmlNode | null {
  const node_id = textIn(value, 'id')
  const state = textIn(value, 'state')
  if (node_id === null || state === null) return null
  return {
    node_id,
    label: textIn(value, 'label') ?? '',
    node_definition: textIn(value, 'node_definition') ?? '',
    state,
    tags: listOf(fieldOf(value, 'tags')).filter(tag => typeof tag === 'string'),
  }
}
