// Loaded before a service by `node --import`: whatever it has to say to a simulated CML goes to another port of the same address,
// where a gate stands. The addresses are those of the simulator, 127.64.0.0/10, and each machine has one of its own.
import { Socket } from 'node:net'

const CML_PORT = 8443
const SIMULATED = /^127\.(6[4-9]|[789]\d|1[01]\d|12[0-7])\./
const port = Number(new URL(import.meta.url).searchParams.get('port'))

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  // Node hands on to itself what it has put into a list.
  const list = Array.isArray(args[0]) ? args[0] : args
  const [way] = list
  const isCml = typeof way === 'object' && Number(way?.port) === CML_PORT && SIMULATED.test(way.host ?? '')
  if (isCml) list[0] = { ...way, port }
  return connect.apply(this, args)
}
