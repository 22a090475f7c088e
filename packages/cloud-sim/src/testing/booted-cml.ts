import type { CmlAnswer } from '../cml/http-messages.ts'
import { DEFAULT_CML_LOGIN } from '../cml/server-state.ts'
import { machineToProbe } from '../conformance/compute-and-metrics-fixtures.ts'
import type { SimModel } from '../sim-model.ts'

/** A machine whose CML is ready, and calls of its API as the administrator. */
export async function bootedCml(model: SimModel, advance: (ms: number) => Promise<void>) {
  const machine = machineToProbe(model, advance)
  while (await machine.toNextChange());
  const { id } = machine
  let token = ''
  const asWith = (asked: string | null, method: string, path: string, body?: unknown): CmlAnswer => {
    const [pathname = '', search = ''] = path.split('?')
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    return model.cml.call(id, { method, path: pathname, query: new URLSearchParams(search), token: asked, body: text })
  }
  const login = (username: string, password: string) => asWith(null, 'POST', '/authenticate', { username, password })
  const ask = (method: string, path: string, body?: unknown) => asWith(token, method, path, body)
  token = String(login(DEFAULT_CML_LOGIN.username, DEFAULT_CML_LOGIN.password).body)
  return {
    ...machine,
    token,
    ask,
    login,
    as: (asked: string | null) => (method: string, path: string, body?: unknown) => asWith(asked, method, path, body),
    /** Logs in again and continues in the new session. */
    again() {
      token = String(login(DEFAULT_CML_LOGIN.username, DEFAULT_CML_LOGIN.password).body)
    },
    /** Advances time until no change on the server is planned. */
    async settle() {
      for (let at = model.cml.changesAtMs(id); at !== null; at = model.cml.changesAtMs(id))
        await advance(at - model.now())
    },
  }
}

/** A topology of nodes with these definitions, in a row without links. */
export const rowOf = (...definitions: readonly string[]): string =>
  JSON.stringify({
    lab: { version: '0.3.0', title: 'a row' },
    nodes: definitions.map((node_definition, n) => ({ id: `n${n}`, label: `node-${n}`, node_definition, x: n, y: 0 })),
    links: [],
  })
