import type { Collections } from './live-state.ts'
import { definitionHash, pageHash, sessionHash, workerHash } from './router.ts'

/** Name and page of a resource, as far as it still exists. */
export interface ResourceLink {
  /** Such as `worker`. */
  readonly kind: string
  readonly name: string
  /** Page of the resource; null without one. */
  readonly href: string | null
}

export function resourceLinkOf(resource: string, live: Collections): ResourceLink {
  const cut = resource.indexOf(':')
  const [stored, id] = [resource.slice(0, Math.max(0, cut)), resource.slice(cut + 1)]
  const kind = stored.replaceAll('_', ' ')
  switch (stored) {
    case 'worker':
      return { kind, name: live.worker.get(id)?.name ?? id, href: workerHash(id) }
    case 'session':
      return { kind, name: live.session.get(id)?.definition.name ?? id, href: sessionHash(id) }
    case 'definition':
      return { kind, name: live.definition.get(id)?.name ?? id, href: definitionHash(id) }
    case 'lab_record':
      return { kind: 'lab', name: live.lab.get(id)?.title ?? id, href: pageHash('labs', { q: id }) }
    case 'template':
      return { kind, name: live.template.get(id)?.name ?? id, href: null }
    case 'service':
      return { kind, name: id, href: pageHash('controllers') }
    case 'person':
      return { kind, name: id, href: pageHash('people', { q: id }) }
    case 'token':
    case 'settings':
      return { kind, name: id, href: pageHash('settings') }
    case 'license_leak':
      return { kind, name: id, href: pageHash('overview') }
    default:
      return { kind, name: id, href: null }
  }
}
