import { instantText } from '../http-messages.ts'
import type { CmlLab } from './lab.ts'

/** Events of a lab up to then, oldest first, as far as they are kept. */
export function labEvents(lab: CmlLab, untilMs: number) {
  const added = (element_type: string, element_id: string, label: string) => ({
    lab_id: lab.id,
    event: 'ADD',
    element_type,
    element_id,
    data: { label },
    previous: {},
    at_ms: lab.created_ms,
  })
  const events = [
    added('LAB', lab.id, lab.title),
    ...lab.nodes.map(node => added('NODE', node.id, node.label)),
    ...lab.links.map(link => added('LINK', link.id, link.label)),
    ...stateChanges(lab),
  ]
  return events
    .filter(({ at_ms }) => at_ms <= untilMs)
    .toSorted((a, b) => a.at_ms - b.at_ms)
    .map(({ at_ms, ...event }) => ({ ...event, timestamp: instantText(at_ms) }))
}

const stateChanges = (lab: CmlLab) =>
  lab.nodes.flatMap(node =>
    node.timeline.flatMap(({ state, from_ms }, index) => {
      const previous = node.timeline[index - 1]?.state
      if (previous === undefined || previous === state) return []
      return [
        {
          lab_id: lab.id,
          event: 'STATE_CHANGED',
          element_type: 'NODE',
          element_id: node.id,
          data: { state },
          previous: { state: previous },
          at_ms: from_ms,
        },
      ]
    }),
  )
