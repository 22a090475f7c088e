import { sealing } from '@lcm/control-plane/crypto'
import type { SecretKeys } from '@lcm/control-plane/keys/secret-keys'
import { openCollections } from '@lcm/control-plane/resources'
import type { Store } from '@lcm/store/store'

const ALL = 10_000
/** Opening draws nothing. */
const noRandomness = () => new Uint8Array()

/** Every sealed text that a resource names and every stored answer opens with a key of the installation. */
export function unreadableSecrets({ store, keys }: { store: Store; keys: SecretKeys }) {
  const { secrets, idempotentRequests, workers, templates } = openCollections(store)

  /** Reads again when a rotation has sealed the text with another key meanwhile. */
  async function isUnreadable(id: string, read: () => Promise<string | null | undefined>): Promise<boolean> {
    const sealed = (await read()) ?? null
    if (sealed === null) return false
    if (keys.all().some(key => sealing(key, 'secrets', noRandomness).open(sealed, id) !== null)) return false
    return (await read()) === sealed || isUnreadable(id, read)
  }

  /** A crash may leave a secret that no resource names. */
  async function isNamed(id: string): Promise<boolean> {
    const [kind, resource = '', , ref = ''] = id.split(':')
    const owner = await (kind === 'worker' ? workers : templates).get(resource)
    return Object.values(owner?.secret_refs ?? {}).includes(ref)
  }

  return async (): Promise<string[]> => {
    const unreadable: string[] = []
    for (const { id } of await secrets.list({ limit: ALL }))
      if ((await isUnreadable(id, async () => (await secrets.get(id))?.sealed)) && (await isNamed(id)))
        unreadable.push(`the secret ${id} can't be opened`)
    for (const { id } of await idempotentRequests.list({ limit: ALL }))
      if (await isUnreadable(id, async () => (await idempotentRequests.get(id))?.answer?.sealed_body))
        unreadable.push(`the stored answer ${id} can't be opened`)
    return unreadable
  }
}
