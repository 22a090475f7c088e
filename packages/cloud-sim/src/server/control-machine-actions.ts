import type { MachineView } from '../ec2/instance.ts'
import { Ec2Refusal } from '../ec2/refusal.ts'
import type { SimModel } from '../sim-model.ts'
import type { JsonText } from './json-member-reader.ts'

interface Asked {
  readonly model: SimModel
  readonly id: string
  readonly region: string
  readonly body: JsonText
}

const RETIRED_AFTER_S = 3600

/** Changes of a machine that bypass the EC2 API. */
const ACTS = {
  start: ({ model, id, region }: Asked) => model.ec2.startInstances(region, { ids: [id] }),
  stop: ({ model, id, region, body }: Asked) =>
    model.ec2.stopInstances(region, { ids: [id], force: flag(body, 'force') ?? false }),
  terminate: ({ model, id, region }: Asked) => model.ec2.terminateInstances(region, { ids: [id] }),
  reboot: ({ model, id, region }: Asked) => model.ec2.rebootInstances(region, { ids: [id] }),
  tag: ({ model, id, region, body }: Asked) => model.ec2.createTags(region, { ids: [id], tags: tagsIn(body) }),
  untag: ({ model, id, region, body }: Asked) =>
    model.ec2.deleteTags(region, { ids: [id], tags: keysIn(body).map(key => ({ key, value: null })) }),
  protect: ({ model, id, region, body }: Asked) =>
    model.ec2.modifyInstanceAttribute(region, {
      instance_id: id,
      disable_api_termination: flag(body, 'termination') ?? (body.has('stop') ? null : true),
      disable_api_stop: flag(body, 'stop'),
      instance_type: null,
    }),
  retire: ({ model, id, body }: Asked) =>
    model.incidents.retire(id, body.has('after_seconds') ? body.number('after_seconds') : RETIRED_AFTER_S),
  'kill-in-pending': ({ model, id }: Asked) => model.incidents.killInPending(id),
} as const

export type MachineAction = keyof typeof ACTS
export const isMachineAction = (text: string): text is MachineAction => Object.hasOwn(ACTS, text)

export function performMachineAction(
  model: SimModel,
  { instance }: MachineView,
  { name, body }: { name: MachineAction; body: JsonText },
): void {
  ACTS[name]({ model, id: instance.instance_id, region: instance.region, body })
}

function flag(body: JsonText, name: string): boolean | null {
  return body.has(name) ? body.flag(name) : null
}

function tagsIn(body: JsonText): Readonly<Record<string, string>> {
  const tags = body.has('tags') ? body.part('tags') : null
  if (tags === null || tags.names().length === 0) throw wanting('say which in {"tags": {"key": "value"}}')
  return Object.fromEntries(tags.names().map(name => [name, tags.text(name)]))
}

function keysIn(body: JsonText): readonly string[] {
  const keys = body.texts('keys')
  if (keys.length === 0) throw wanting('say which in {"keys": ["key"]}')
  return keys
}

const wanting = (message: string) => new Ec2Refusal('ValidationError', message)
