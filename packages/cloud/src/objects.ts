/** Reads what is kept in buckets. */
export interface Objects {
  /**
   * The whole of it. Rejects with a CloudError, of class `invalid` also when it is larger than `bytesMax`; or with the signal's
   * reason.
   */
  read(place: ObjectPlace, bytesMax: number, signal: AbortSignal): Promise<Buffer>
}

export interface ObjectPlace {
  readonly bucket: string
  readonly key: string
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const KEY_BYTES_MAX = 1024

const isDots = (segment: string): boolean => segment === '.' || segment === '..'

/** What `s3://bucket/key` names; null when it names nothing. The key is taken as it is written. */
export function objectPlaceOf(address: string): ObjectPlace | null {
  const [, bucket = '', key = ''] = /^s3:\/\/([^/]*)\/(.+)$/s.exec(address) ?? []
  // Whoever sends a path takes segments of dots away, so that another object would be asked for.
  const isKey = key !== '' && Buffer.byteLength(key) <= KEY_BYTES_MAX && !key.split('/').some(isDots)
  return BUCKET.test(bucket) && !bucket.includes('..') && isKey ? { bucket, key } : null
}
