// Packages that a bundle leaves out, so that they are found from the bundle's folder when it runs.
import { isAbsolute } from 'node:path'

/** SQLite has a native part, and the MongoDB driver tries optional packages that have one. */
const NOT_IN_PRODUCT = ['@photostructure/sqlite', 'mongodb']
/** As a whole, the EC2 client takes most of a second and 90 MB to load; a bundle keeps a twentieth of it. */
const AWS_SDK = /^@(aws-sdk|smithy)\//

/** Left out of the product's bundle. */
export const isOutsideProduct = id => NOT_IN_PRODUCT.some(name => id === name || id.startsWith(`${name}/`))

/** Left out of the bundle of the tests, which share their packages with Vitest. */
export const isOutsideTests = id => isPackage(id) && !AWS_SDK.test(id)

const isPackage = id => !id.startsWith('.') && !id.startsWith('@lcm/') && !id.startsWith('\0') && !isAbsolute(id)

/** ES modules, because a bundler can leave out what is unused of them. */
export const RESOLVE = { mainFields: ['module', 'main'] }
