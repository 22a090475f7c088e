// Creates the users of etcd for the compose file and turns authentication on. Does nothing once that has happened.
import { readFileSync } from 'node:fs'

const ETCD = 'https://etcd:2379'
const secret = name => readFileSync(`/run/secrets/${name}`, 'utf8').trim()
const base64 = text => Buffer.from(text).toString('base64')

async function call(path, body) {
  const response = await fetch(`${ETCD}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) })
  const answer = await response.json()
  if (response.ok) return answer
  throw new Error(`etcd refuses ${path}: ${answer.message ?? answer.error}`)
}

/** An earlier run may have ended halfway. */
const create = (path, body) =>
  call(path, body).catch(error => {
    if (!/already exist/.test(error.message)) throw error
  })

const root = { name: 'root', password: secret('etcd-root-password') }
const isDone = await call('authenticate', root).then(
  () => true,
  error => {
    if (/authentication is not enabled/.test(error.message)) return false
    throw error
  },
)
if (!isDone) {
  for (const user of [root, { name: 'lcm', password: secret('etcd-password') }]) {
    await create('user/add', user)
    await create('role/add', { name: user.name })
    await call('user/grant', { user: user.name, role: user.name })
  }
  // From /lcm/ to the first key after all that begin so.
  const perm = { permType: 'READWRITE', key: base64('/lcm/'), range_end: base64('/lcm0') }
  await call('role/grant', { name: 'lcm', perm })
  await call('enable', {})
}
process.stdout.write('etcd: user lcm may read and write below /lcm/\n')
