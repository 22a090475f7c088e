// A fleet in the middle of a working day, for the screenshots of the console.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../setup.mjs'
import { campus, leafSpine } from './topologies.mjs'

const MINUTE_MS = 60_000
const LIMIT_MS = 90_000
const LICENSE = { product: 'CML_Enterprise', token: 'a-token-of-the-pictures' }

/** Calls the API with the token. */
export const caller = (url, token) => async (method, path, body) => {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`)
  return text === '' ? null : JSON.parse(text)
}

/** Polls until there is a result. */
export async function until(what, read) {
  const startedAt = Date.now()
  while (Date.now() - startedAt < LIMIT_MS) {
    const found = await read()
    if (found) return found
    await sleep(200)
  }
  throw new Error(`waited too long for ${what}`)
}

const WORKERS = [
  { name: 'emea-metal-1', template_name: 'metal', aws_region: 'eu-west-1', license: LICENSE },
  { name: 'emea-metal-2', template_name: 'metal', aws_region: 'eu-west-1', license: LICENSE },
  { name: 'classroom-a', template_name: 'nested', aws_region: 'us-west-2', license: LICENSE },
  { name: 'classroom-b', template_name: 'nested', aws_region: 'us-west-2', license: LICENSE },
  { name: 'night-batch', template_name: 'metal', aws_region: 'us-west-2' },
  { name: 'beta-image', template_name: 'beta', aws_region: 'eu-west-1' },
]

export async function fillFleet(url, token) {
  const api = caller(url, token)
  await define(api)
  const capacity = { cpu_cores: 48, memory_gb: 184, storage_gb: 150, max_nodes: 200 }
  const machine = { instance_types: ['m5zn.metal'], ami_name_pattern: 'cml-2.10-beta-*', ami_owner: 'self' }
  const beta = { name: 'beta', description: 'The next CML, when there is an image', ...machine, capacity }
  await api('POST', '/worker-templates', { ...beta, cost_per_hour_usd: 3.9641 })
  for (const worker of WORKERS) await api('POST', '/workers', worker)
  const nameOf = worker => worker.name
  const serving = await until('the fleet', async () => {
    const { items } = await api('GET', '/workers')
    const wanted = items.filter(({ template_name }) => template_name !== 'beta')
    const isReady = ({ name, license, service_status }) =>
      service_status === 'AVAILABLE' && (!/emea|classroom/.test(name) || license.status === 'REGISTERED')
    return wanted.length >= WORKERS.length && wanted.every(isReady) && new Map(wanted.map(each => [nameOf(each), each]))
  })
  await api('POST', `/workers/${serving.get('night-batch').id}/stop`, {})
  await book(url, api)
  await api('POST', `/workers/${serving.get('emea-metal-2').id}/drain`, {})
  await api('PATCH', `/workers/${serving.get('emea-metal-1').id}`, {
    protected: true,
    labels: { team: 'emea', cost: '4711' },
  })
  return { api, shown: serving.get('emea-metal-1').id }
}

async function define(api) {
  const small = readFileSync(join(root, 'examples', 'labs', 'two-routers.yaml'), 'utf8')
  const big = { cpu_cores: 8, memory_gb: 400, storage_gb: 40, node_count: 12 }
  const licensed = { license_affinity: [LICENSE.product], max_duration_minutes: 480 }
  const all = [
    { name: 'campus', title: 'Campus with two cores', topology: campus(), ...licensed },
    { name: 'leaf-spine', title: 'Data center, leaf and spine', topology: leafSpine(), ...licensed },
    { name: 'bgp-basics', title: 'BGP between two routers', topology: small, ...licensed },
    { name: 'ai-fabric', title: 'Fabric for a training cluster', topology: leafSpine(), needs: big, ...licensed },
  ]
  for (const body of all) await api('POST', '/lablet-definitions', body)
}

const BOOKINGS = [
  ['maria', 'campus', 0, 120],
  ['jonas', 'bgp-basics', 0, 60],
  ['aiko', 'leaf-spine', 0, 180],
  ['priya', 'bgp-basics', 0, 90],
  ['samir', 'campus', 0, 240],
  ['aiko', 'ai-fabric', 0, 60],
  ['maria', 'leaf-spine', 60, 90],
  ['jonas', 'campus', 90, 120],
  ['priya', 'bgp-basics', 150, 60],
  ['samir', 'leaf-spine', 240, 120],
  ['jonas', 'bgp-basics', 300, 90],
]

async function book(url, api) {
  const people = new Map()
  for (const name of new Set(BOOKINGS.map(([who]) => who))) {
    const { secret } = await api('POST', '/tokens', { name, role: 'user' })
    people.set(name, caller(url, secret))
  }
  for (const [who, definition, inMinutes, minutes] of BOOKINGS) {
    const start = inMinutes === 0 ? {} : { start: new Date(Date.now() + inMinutes * MINUTE_MS).toISOString() }
    const body = { definition, duration_minutes: minutes, ...start }
    const order = more => people.get(who)('POST', '/lablet-sessions', { ...body, ...more })
    // What the calendar can't promise is booked all the same, to show what waits.
    await order({}).catch(() => order({ best_effort: true }))
  }
  await until('four sessions', async () => {
    const { items } = await api('GET', '/lablet-sessions')
    return items.filter(({ status }) => status === 'READY' || status === 'RUNNING').length >= 4
  })
}
