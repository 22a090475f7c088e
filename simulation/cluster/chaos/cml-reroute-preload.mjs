// Loaded before a service by `node --import`: connections to a simulated CML go to another port of the same address, where a
// proxy listens. Each simulated machine has its own address in 127.64.0.0/10.
import { Socket } from 'node:net'

const CML_PORT = 8443
const SIMULATED = /^127\.(6[4-9]|[789]\d|1[01]\d|12[0-7])\./
const port = Number(new URL(import.meta.url).searchParams.get('port'))

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  // Node calls itself with its arguments in an array.
  const list = Array.isArray(args[0]) ? args[0] : args
  const [target] = list
  const isCml = typeof target === 'object' && Number(target?.port) === CML_PORT && SIMULATED.test(target.host ?? '')
  if (isCml) list[0] = { ...target, port }
  return connect.apply(this, args)
}
