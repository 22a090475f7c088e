import type { CmlLab, CmlLabs, CmlNode } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { Clock } from '@lcm/runtime/clock'
import type { SimModel } from '../sim-model.ts'
import { type CmlCall, cmlLogins } from './cml-calls.ts'
import { instantIn, listIn, numberIn, recordIn, textIn } from './json-readers.ts'

/** The CmlLabs port on the model, without sockets: for the whole-system simulation. Without a clock nothing takes time. */
export function simCmlLabs(model: SimModel, clock?: Pick<Clock, 'sleep'>): CmlLabs {
  const sessions = cmlLogins(model)
  const ask = async (login: CmlLogin, what: CmlCall, signal: AbortSignal) => sessions.ask(login, what, signal)
  const lab = async (login: CmlLogin, labId: string, signal: AbortSignal) =>
    labIn((await ask(login, { method: 'GET', path: `/labs/${labId}` }, signal)).body)
  const act = (name: string) => async (login: CmlLogin, labId: string, signal: AbortSignal) => {
    await ask(login, { method: 'PUT', path: `/labs/${labId}/${name}` }, signal)
  }
  return {
    async list(login, signal) {
      const { body } = await ask(login, { method: 'GET', path: '/labs', query: { show_all: 'true' } }, signal)
      return Promise.all(listIn(body).map(id => lab(login, String(id), signal)))
    },
    get: lab,
    async import(login, { title, topology: text }, signal) {
      const { body } = await ask(login, { method: 'POST', path: '/import', query: { title }, text }, signal)
      const { id, warnings } = recordIn(body)
      return { lab_id: textIn(id) ?? '', warnings: listIn(warnings).map(String) }
    },
    start: act('start'),
    stop: act('stop'),
    wipe: act('wipe'),
    async delete(login, labId, signal) {
      await ask(login, { method: 'DELETE', path: `/labs/${labId}`, expected: [404] }, signal)
    },
    async isConverged(login, labId, signal) {
      const { body } = await ask(login, { method: 'GET', path: `/labs/${labId}/check_if_converged` }, signal)
      return body === true
    },
    async nodes(login, labId, signal) {
      const query = { data: 'true', exclude_configurations: 'true' }
      const { body } = await ask(login, { method: 'GET', path: `/labs/${labId}/nodes`, query }, signal)
      return listIn(body).map(nodeIn)
    },
    async extractConfiguration(login, node, signal) {
      const path = `/labs/${node.lab_id}/nodes/${node.node_id}/extract_configuration`
      const { held_ms = 0 } = await ask(login, { method: 'PUT', path }, signal)
      await clock?.sleep(held_ms, signal)
    },
    async consoleLog(login, node, signal) {
      const path = `/labs/${node.lab_id}/nodes/${node.node_id}/consoles/0/log`
      return String((await ask(login, { method: 'GET', path, query: { lines: '50' } }, signal)).body)
    },
    async download(login, labId, signal) {
      return (await ask(login, { method: 'GET', path: `/labs/${labId}/download` }, signal)).text ?? ''
    },
    async nodeQuota(login, signal) {
      const { body } = await ask(login, { method: 'GET', path: '/diagnostics/licensing' }, signal)
      const { quota, started } = recordIn(body)
      return { quota: numberIn(quota), started: numberIn(started) ?? 0 }
    },
  }
}

function labIn(body: unknown): CmlLab {
  const lab = recordIn(body)
  return {
    lab_id: textIn(lab.id) ?? '',
    title: textIn(lab.lab_title) ?? '',
    owner: textIn(lab.owner_username),
    state: textIn(lab.state) ?? '',
    node_count: numberIn(lab.node_count),
    link_count: numberIn(lab.link_count),
    created: instantIn(lab.created),
    modified: instantIn(lab.modified),
  }
}

function nodeIn(body: unknown): CmlNode {
  const node = recordIn(body)
  return {
    node_id: textIn(node.id) ?? '',
    label: textIn(node.label) ?? '',
    node_definition: textIn(node.node_definition) ?? '',
    state: textIn(node.state) ?? '',
    tags: listIn(node.tags).map(String),
  }
}
