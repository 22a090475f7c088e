import type { WorkerNames } from '../worker/worker-names.ts'

const KINDS: Readonly<Record<string, string>> = { lab_record: 'lab' }

/** Formats a resource reference: `worker:w-1` becomes `worker metal-1`. */
export function resourceText(resource: string, names: WorkerNames): string {
  const cut = resource.indexOf(':')
  if (cut === -1) return resource
  const [kind, id] = [resource.slice(0, cut), resource.slice(cut + 1)]
  return `${KINDS[kind] ?? kind.replaceAll('_', ' ')} ${kind === 'worker' ? names.of(id) : id}`
}
