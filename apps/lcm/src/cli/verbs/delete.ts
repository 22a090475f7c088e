import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findDefinition, findTemplate, findWorker } from '../find-resource.ts'
import { confirmCapacityChange } from '../fleet/confirm-capacity-change.ts'
import { addLabVerb } from '../lab/lab-commands.ts'
import { LICENSE_POOLS } from '../license/license-pool-kind.ts'
import { NOTIFICATIONS, TARGETS } from '../notification/notification-kinds.ts'
import { addOneStep, type OneStep } from '../one-step-command.ts'
import { PEOPLE } from '../person/person-kind.ts'
import { findSave } from '../save/save-kind.ts'
import { TOKENS } from '../token/token-kind.ts'

export function defineDelete(group: Command, shell: Shell): void {
  for (const deletion of DELETIONS) addOneStep(group, deletion, shell)
  addLabVerb(group, 'delete', shell)
  group.addHelpText('afterAll', EXAMPLES)
}

const DELETIONS: readonly OneStep[] = [
  {
    usage: 'worker <id>',
    plural: 'workers',
    summary: 'Delete the record of a TERMINATED worker',
    async run(client, idOrName, signal) {
      const { id, name } = await findWorker(client, idOrName, signal)
      await client.call('deleteWorker', { params: { id }, signal })
      return `record of ${name} (${id}) deleted`
    },
  },
  {
    usage: 'definition <id>',
    plural: 'definitions',
    summary: 'Delete one version of a definition that no session uses',
    async run(client, idOrName, signal) {
      const { id, name, definition_version } = await findDefinition(client, idOrName, signal)
      await client.call('deleteDefinition', { params: { id }, signal })
      return `definition ${name} ${definition_version} (${id}) deleted`
    },
  },
  {
    usage: 'template <name>',
    plural: 'templates',
    summary: 'Delete a template that no worker uses',
    async confirm(client, idOrName, invoked) {
      const { name } = await findTemplate(client, idOrName, invoked.shell.signal)
      await confirmCapacityChange(client, { name, change: { removed_templates: [name] }, yes: false }, invoked)
    },
    async run(client, idOrName, signal) {
      const { name } = await findTemplate(client, idOrName, signal)
      await client.call('deleteTemplate', { params: { name }, signal })
      return `template ${name} deleted`
    },
  },
  {
    usage: 'save <id>',
    plural: 'saves',
    summary: 'Delete saved work permanently',
    async run(client, wanted, signal) {
      const { id } = await findSave(client, wanted, signal)
      await client.call('deleteSave', { params: { id }, signal })
      return `save ${id} deleted`
    },
  },
  {
    usage: 'person <id>',
    plural: 'people',
    summary: 'Remove a person without open sessions, with all tokens and sign-ins',
    async run(client, wanted, signal) {
      const { id, name } = await PEOPLE.find(client, wanted, signal)
      await client.call('removePerson', { params: { id }, signal })
      return `person ${name} (${id}) removed`
    },
  },
  {
    usage: 'token <id>',
    plural: 'tokens',
    summary: 'Revoke an API token and end all sign-ins of its person',
    async run(client, idOrName, signal) {
      const { id, name } = await TOKENS.find(client, idOrName, signal)
      await client.call('deleteToken', { params: { id }, signal })
      return `token ${name} (${id}) revoked`
    },
  },
  {
    usage: 'target <name>',
    plural: 'targets',
    summary: 'Delete a notification target with its messages',
    async run(client, idOrName, signal) {
      const { id, name } = await TARGETS.find(client, idOrName, signal)
      await client.call('deleteNotificationTarget', { params: { id }, signal })
      return `target ${name} deleted`
    },
  },
  {
    usage: 'license-pool <product>',
    plural: 'license-pools',
    summary: 'Delete a license pool that has no seat in use',
    async confirm(client, wanted, invoked) {
      const { product } = await LICENSE_POOLS.find(client, wanted, invoked.shell.signal)
      const change = { license_pools: [{ product, seats: 0 }] }
      const unless = ', unless you register licenses by hand'
      await confirmCapacityChange(client, { name: product, change, yes: false, unless }, invoked)
    },
    async run(client, wanted, signal) {
      const { product } = await LICENSE_POOLS.find(client, wanted, signal)
      await client.call('deleteLicensePool', { params: { product }, signal })
      return `license pool ${product} deleted`
    },
  },
  {
    usage: 'notification <id>',
    plural: 'notifications',
    summary: 'Delete a notification; one that is queued is not sent',
    async run(client, wanted, signal) {
      const { id } = await NOTIFICATIONS.find(client, wanted, signal)
      await client.call('deleteNotification', { params: { id }, signal })
      return `notification ${id} deleted`
    },
  },
]

const EXAMPLES = `
Examples:
  lcm terminate worker metal-3 --wait && lcm delete worker metal-3
  lcm delete definition bgp-basics
  lcm delete template metal
  lcm delete save sv-0n4k2m7a8q1cd
  lcm delete person "Jane Doe"
  lcm delete token ci
  lcm delete target ops
  lcm delete license-pool CML_Personal
  lcm delete lab lr-0n4k2m7a8q1cd --yes --wait     remove it from its worker without confirmation`
