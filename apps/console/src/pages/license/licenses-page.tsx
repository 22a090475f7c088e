import { readList } from '@lcm/client/list-pages'
import type { LicensePoolView } from '@lcm/contract/license/license-pool'
import { countText } from '@lcm/domain/text/format-amounts'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { CapacityLoss } from '../../parts/dialog/capacity-loss.tsx'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { Headline, NewButton } from '../../parts/list/list-page-header.tsx'
import { PageState } from '../../parts/shell/page-states.tsx'
import { useRead } from '../../parts/use-read.ts'
import { failureText } from '../../state/failure-text.ts'
import { isAllowed } from '../../state/permission.ts'
import { workerHash } from '../../state/router.ts'
import { PoolDialog } from './pool-dialog.tsx'

const READ_EVERY_MS = 15_000

export function LicensesPage() {
  const { state } = useConsole()
  return isAllowed(state.info.value, 'listLicensePools') ? <Pools /> : <NotAllowed />
}

const NotAllowed = () => (
  <PageState icon="lock" title="Not available for your role">
    <p>Only administrators and operators can see licenses.</p>
  </PageState>
)

function Pools() {
  const read = useRead(
    'license pools',
    (client, signal) => readList(page => client.call('listLicensePools', { query: page, signal })),
    { everyMs: READ_EVERY_MS },
  )
  const pools = read.value?.items ?? []
  return (
    <section class="page licenses">
      <Headline title="Licenses" summary={summaryOf(read.value?.items)}>
        <NewButton route="createLicensePool" form={() => <PoolDialog pool={null} onSaved={read.reload} />}>
          Create pool
        </NewButton>
      </Headline>
      {read.error !== null && <p class="refusal tone-red">Could not load the licenses: {read.error}</p>}
      {read.value === null && read.error === null && <span class="bone row" aria-busy="true" />}
      {read.value !== null && pools.length === 0 && <NoPools />}
      {pools.map(pool => (
        <PoolCard key={pool.id} pool={pool} onChanged={read.reload} />
      ))}
    </section>
  )
}

function summaryOf(pools: readonly LicensePoolView[] | undefined): string {
  if (pools === undefined) return 'Loading licenses…'
  const seats = pools.reduce((sum, pool) => sum + pool.seats, 0)
  const free = pools.reduce((sum, pool) => sum + pool.free, 0)
  return `${countText(pools.length, 'pool')}, ${free} of ${countText(seats, 'seat')} free`
}

const NoPools = () => (
  <PageState icon="key" title="No license pools">
    <p>
      Workers take licenses from a pool and return them by themselves. Create a pool, and name its product in your
      templates. Without one, a license is registered by hand on the page of each worker.
    </p>
  </PageState>
)

interface PoolProps {
  readonly pool: LicensePoolView
  readonly onChanged: () => void
}

function PoolCard({ pool, onChanged }: PoolProps) {
  const { product, seats, free, leaked, taken, waiting } = pool
  const held = taken.length - leaked
  const title = `pool-${pool.id}`
  return (
    <section class="card pool" aria-labelledby={title}>
      <div class="card-head">
        <h2 id={title}>{product}</h2>
        <PoolActions pool={pool} onChanged={onChanged} />
      </div>
      <p class="pool-counts">
        <span>
          <strong class="number">{free}</strong> of {seats} free
        </span>
        <span>
          <strong class="number">{held}</strong> held
        </span>
        {leaked > 0 && (
          <span class="badge tone-orange">
            <NamedIcon name="key" />
            {leaked} leaked
          </span>
        )}
        {waiting.length > 0 && (
          <span class="badge tone-orange">
            <NamedIcon name="waiting" />
            {waiting.length} waiting
          </span>
        )}
      </p>
      <SeatBar pool={pool} />
      {waiting.length > 0 && (
        <p class="tone-orange">
          Without a seat, and limited to 5 nodes: {waiting.map(({ worker_name }) => worker_name).join(', ')}. Add seats,
          resolve leaks or stop a worker.
        </p>
      )}
      {taken.length === 0 ? (
        <p class="muted">No worker holds a seat.</p>
      ) : (
        <ul class="seats" aria-label={`Seats of ${product} in use`}>
          {taken.map(seat => (
            <li key={seat.worker_id}>
              <a href={workerHash(seat.worker_id)}>{seat.worker_name}</a>
              <span class="muted">
                for <Age since={seat.since} />
              </span>
              {seat.leak_id !== null && (
                <span class="badge tone-orange">
                  leaked: <a href="#/overview">{seat.leak_id}</a>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** The same numbers as the text above it. */
const SeatBar = ({ pool: { seats, leaked, taken } }: { pool: LicensePoolView }) => (
  <span class="seat-bar" aria-hidden="true">
    <span class="held" style={{ width: `${((taken.length - leaked) / seats) * 100}%` }} />
    <span class="leaked" style={{ width: `${(leaked / seats) * 100}%` }} />
  </span>
)

function PoolActions({ pool, onChanged }: PoolProps) {
  const parts = useConsole()
  const { client, dialog, notices, state } = parts
  if (!isAllowed(state.info.value, 'putLicensePool')) return null
  const { product } = pool
  const remove = async () => {
    try {
      await client.call('deleteLicensePool', { params: { product }, ifMatch: pool.version })
      notices.show('done', `License pool ${product} deleted`)
      onChanged()
    } catch (error) {
      notices.show('refused', `Could not delete the license pool ${product}`, failureText(error))
    }
  }
  const edit = () => {
    dialog.value = <PoolDialog pool={pool} onSaved={onChanged} />
  }
  const confirm = () => {
    dialog.value = (
      <ConfirmDialog title={`Delete the pool ${product}?`} verb="Delete" typed={null} onConfirm={() => void remove()}>
        <p>The token is deleted too. New workers of this product start without a license.</p>
        <CapacityLoss
          change={{ license_pools: [{ product, seats: 0 }] }}
          unless=", unless you register licenses by hand"
        />
      </ConfirmDialog>
    )
  }
  return (
    <span class="actions">
      <button type="button" class="button small" aria-label={`Edit ${product}`} onClick={edit}>
        Edit…
      </button>
      <button type="button" class="button small" aria-label={`Delete ${product}`} onClick={confirm}>
        Delete…
      </button>
    </span>
  )
}
