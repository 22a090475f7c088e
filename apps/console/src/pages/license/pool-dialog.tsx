import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { CapacityLoss } from '../../parts/dialog/capacity-loss.tsx'
import { TextField } from '../../parts/dialog/fields.tsx'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'

interface PoolDialogProps {
  readonly pool: LicensePoolView | null
  readonly onSaved: () => void
}

/** Creates a license pool, or edits the given one. The API never returns its token. */
export function PoolDialog({ pool, onSaved }: PoolDialogProps) {
  const { client } = useConsole()
  const product = useSignal(pool?.product ?? '')
  const seats = useSignal(String(pool?.seats ?? ''))
  const token = useSignal('')
  const count = Number(seats.value)
  const isCount = Number.isInteger(count) && count >= 1
  const given = token.value.trim()
  const send = async () => {
    if (pool === null)
      await client.call('createLicensePool', { body: { product: product.value.trim(), seats: count, token: given } })
    else {
      const body = { seats: count, ...(given === '' ? {} : { token: given }) }
      await client.call('putLicensePool', { params: { product: pool.product }, ifMatch: pool.version, body })
    }
    onSaved()
  }
  return (
    <FormDialog
      title={pool === null ? 'Create a license pool' : `Edit ${pool.product}`}
      verb={pool === null ? 'Create pool' : 'Save'}
      isComplete={isCount && (pool !== null || (product.value.trim() !== '' && given !== ''))}
      send={send}
    >
      {pool === null && <TextField label="Product" value={product} maxLength={64} placeholder="CML_Enterprise" />}
      <TextField label="Seats" note="workers that it licenses" value={seats} inputmode="numeric" maxLength={5} />
      {pool !== null && isCount && count < pool.seats && (
        <CapacityLoss change={{ license_pools: [{ product: pool.product, seats: count }] }} />
      )}
      <TextField
        label="Token"
        {...(pool === null ? {} : { note: 'empty keeps the present one' })}
        value={token}
        maxLength={4096}
        isSecret
      />
      <p class="muted">
        The token is stored encrypted, sent only to the CML of workers that hold a seat, and can't be read back.
        {pool !== null && ' Another token registers workers again whose registration failed.'}
      </p>
    </FormDialog>
  )
}
