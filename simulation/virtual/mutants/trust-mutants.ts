import type { Compute } from '@lcm/cloud/compute'
import { RESOURCES } from '@lcm/control-plane/resources'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import type { Collection, Document, Kind, Store } from '@lcm/store/store'
import { anAttempt } from '@lcm/testkit/test-data-builders'
import { at, changeRequests, changeResponses, type Mutant } from './mutant.ts'

const CAUGHT = /a password was sent to .*, which LCM did not launch and no operator approved/

/** The endpoint tag names another machine before the first contact with CML. */
const TAGGED_AT_LAUNCH = [
  at(0, 'launch a foreign machine'),
  at(20, 'create'),
  ...Array.from({ length: 12 }, (_, n) => at(20.02 + n / 50, 'tag a machine with a foreign endpoint')),
]

/** Replaces the addresses of an instance by the address in its tag. */
function withTaggedAddress(instance: Instance): Instance {
  const [, host] = /^https:\/\/([\d.]+)/.exec(instance.tags[TAG.endpoint] ?? '') ?? []
  return host === undefined ? instance : { ...instance, public_ip: host, private_ip: host }
}

const trustTag = (compute: Compute): Compute => ({
  ...compute,
  list: async (...args) => (await compute.list(...args)).map(withTaggedAddress),
  async describe(...args) {
    const { found, missing } = await compute.describe(...args)
    return { found: found.map(withTaggedAddress), missing }
  },
})

/** The launch is refused in every zone, and an attacker uses the tokens of the next attempt. */
const TOKENS_USED = [
  ...[0, 0.25, 0.5, 0.75].map(target => at(0, 'exhaust a zone', { target, forMinutes: 60 })),
  at(1, 'create'),
  at(2, 'use the next launch tokens'),
]

const IMAGES = { name_pattern: 'cml-2.9.1-*', owner: 'self' }

/** Shows the image of the fleet for every machine. */
const blindToImages = (compute: Compute): Compute => ({
  ...compute,
  async list(region, filter, signal) {
    const image = await compute.newestImage(region, IMAGES, signal)
    const listed = await compute.list(region, filter, signal)
    return listed.map(each => ({ ...each, image_id: image?.image_id ?? each.image_id }))
  },
})

const WORKERS_READ = /^GET \S*\/workers(\/w-[^/]+)?(\?|$)/
/** Changes workers in the responses that the worker-controller reads. */
const changeWorkers = (change: (worker: Record<string, unknown>) => object) =>
  changeResponses(WORKERS_READ, body =>
    Array.isArray(body.items) ? { ...body, items: body.items.map(change) } : change(body),
  )

/** Shows the certificate that CML showed as the pinned one, as an API does that takes pins before approvals. */
function shownPinned<T extends Record<string, unknown>>(worker: T): T {
  const { certificate_sha256: pin, seen_certificate_sha256: seen, ...cml } = Object(worker.cml)
  return { ...worker, cml: { ...cml, certificate_sha256: pin ?? seen, seen_certificate_sha256: null } }
}

/** Keeps the certificate that was seen on record. */
const keepSeen = changeRequests(/^PATCH \S*\/workers\/w-[^/]+\/status$/, ({ changes, ...report }) => {
  const { seen_certificate_sha256: _, ...cml } = Object(Object(changes).cml)
  return Object(changes).cml === undefined
    ? { ...report, changes }
    : { ...report, changes: { ...Object(changes), cml } }
})

/** Shows every machine as approved. */
const shownApproved = (worker: Record<string, unknown>): Record<string, unknown> => ({
  ...worker,
  approval: { ...Object(worker.approval), state: 'approved' },
})

/** Pins whatever certificate CML shows. */
function pinningAny({ changes, ...report }: Record<string, unknown>) {
  const seen = Object(Object(changes).cml).seen_certificate_sha256
  if (typeof seen !== 'string') return { ...report, changes }
  const cml = { ...Object(changes).cml, certificate_sha256: seen, seen_certificate_sha256: null }
  return { ...report, changes: { ...Object(changes), cml } }
}

/** Adds a launch attempt to discovered workers. */
const launched = (worker: Record<string, unknown>): Record<string, unknown> =>
  worker.origin === 'DISCOVERY' ? { ...worker, launch: anAttempt() } : worker

/** Lists no secret by its key. */
const hideSecrets = (store: Store): Store => ({
  ...store,
  collection<T extends Document>(kind: Kind<T>): Collection<T> {
    const documents = store.collection(kind)
    if (kind.name !== RESOURCES.secrets.name) return documents
    return { ...documents, list: async query => (query.where?.key === undefined ? documents.list(query) : []) }
  },
})

/** Rotations, one of which is killed, and new secrets between them. */
const ROTATED = [
  at(0, 'create with a license'),
  at(4, 'kill the API at a call', { amount: 0.05, target: 0.01 }),
  at(4.01, 'rotate the secret key'),
  at(5, 'rotate the secret key'),
  at(6, 'create with a license', { target: 0.5 }),
  at(7, 'rotate the secret key'),
]

/** Defects in the choice of machines that get secrets, and in the keys of secrets. */
export const trustMutants: readonly Mutant[] = [
  {
    name: 'endpoint tag trusted',
    breaks: 'the tag cml-endpoint leads to a foreign machine',
    caughtBy: CAUGHT,
    acts: TAGGED_AT_LAUNCH,
    defects: () => ({ compute: trustTag }),
  },
  {
    name: 'fleet password for a discovered machine',
    breaks: 'a discovered machine counts as launched by LCM',
    caughtBy: CAUGHT,
    acts: [at(0, 'launch a machine to discover')],
    defects: () => ({
      requests: dispatch => keepSeen(changeWorkers(worker => shownPinned(launched(worker)))(dispatch)),
    }),
  },
  {
    name: 'approval ignored',
    breaks: 'every machine counts as approved',
    caughtBy: CAUGHT,
    acts: [at(0, 'launch a foreign machine'), at(5, 'launch a hostile machine')],
    defects: () => ({
      requests: dispatch => keepSeen(changeWorkers(worker => shownPinned(shownApproved(worker)))(dispatch)),
    }),
  },
  {
    name: 'pin renewed on any certificate',
    breaks: 'a CML that shows another certificate is trusted again at once',
    caughtBy: /the pinned certificate of .* changed, and no operator confirmed the new one/,
    acts: [at(0, 'create'), at(40, 'replace a certificate')],
    defects: () => ({ requests: changeRequests(/^PATCH \S*\/workers\/w-[^/]+\/status$/, pinningAny) }),
  },
  {
    name: 'launch token alone is proof',
    breaks: 'a machine with a launch token counts as launched by LCM, whatever image it runs',
    caughtBy: CAUGHT,
    acts: TOKENS_USED,
    defects: () => ({ compute: blindToImages }),
  },
  {
    name: 'old key removed too early',
    breaks: 'a rotation removes the old key before every secret is sealed with the new one',
    caughtBy: /the secret \S+ can't be opened/,
    acts: ROTATED,
    defects: () => ({ store: hideSecrets }),
  },
]
