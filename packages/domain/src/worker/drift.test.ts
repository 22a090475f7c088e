import { aWorker } from '@lcm/testkit/builders'
import { aLicenseSight, aMachineSight, anObservation, onMachine } from '@lcm/testkit/observations'
import { expect, it } from 'vitest'
import { textReason } from '../reason.ts'
import { driftOf } from './drift.ts'
import { type Instance, TAG } from './instance.ts'
import { type Observation, WORKER_POLICY } from './observation.ts'
import { NO_LICENSE } from './parts.ts'
import type { Worker } from './worker.ts'

const seeing = (instance: Partial<Instance>, license: Observation['license'] = null): Observation =>
  anObservation({ ec2: aMachineSight(instance), license })
const licensed = (registration: string) => aLicenseSight({ registration })

it.each<[string, Worker, Observation, string | null]>([
  ['nothing', onMachine(), seeing({}), null],
  ['an instance that was stopped outside LCM', onMachine(), seeing({ state: 'stopped', public_ip: null }), 'state'],
  ['an instance that was started outside LCM', onMachine({ status: 'STOPPED' }), seeing({}), 'state'],
  ['a new address', onMachine(), seeing({ public_ip: '127.64.0.2' }), 'address'],
  ['another type', onMachine(), seeing({ instance_type: 'c5.metal' }), 'type'],
  [
    'a machine that is gone',
    onMachine(),
    { ...seeing({}), ec2: { kind: 'absent', confirmed: false, because: textReason('not seen') } },
    'absent',
  ],
  [
    'a cloud that does not answer',
    onMachine(),
    { ...seeing({}), ec2: { kind: 'unknown', because: textReason('no answer'), sinceMs: null } },
    null,
  ],
  ['a license that was registered outside LCM', onMachine(), seeing({}, licensed('COMPLETED')), 'license'],
  [
    'a license that is gone',
    onMachine({ license: { ...NO_LICENSE, status: 'REGISTERED' } }),
    seeing({}, licensed('NOT_REGISTERED')),
    'license',
  ],
  ['a tag of ours that is gone', onMachine(), seeing({ tags: {} }), 'tags'],
  ['a name that differs from the worker', onMachine({ name: 'ada' }), seeing({}), 'tags'],
  ['a name of an imported machine', onMachine({ name: 'ada', origin: 'DISCOVERY' }), seeing({}), null],
  ['the tag of another fleet', onMachine(), seeing({ tags: { [TAG.fleet]: 'theirs' } }), 'tags'],
  ['a tag that is gone while it starts', onMachine({ status: 'STARTING' }), seeing({ tags: {} }), 'tags'],
  [
    'a machine that dies, which loses its tags',
    onMachine({ status: 'TERMINATING' }),
    seeing({ state: 'terminated', tags: {} }),
    null,
  ],
  ['a change that is under way', onMachine({ status: 'STOPPING' }), seeing({}), null],
  ['a worker without a machine', aWorker(), seeing({}), null],
])('sees %s', (_, worker, observed, drift) => {
  expect(driftOf(worker, observed, WORKER_POLICY)).toBe(drift)
})
