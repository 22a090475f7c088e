/** Entry of one CML server in the Smart Account. It survives the machine: that is how licenses are lost. */
export interface Seat {
  readonly product_uuid: string
  readonly hostname: string
  readonly instance_id: string
  readonly product: string
  /** Nodes in addition to those of the product. */
  readonly extra_nodes: number
  readonly from_ms: number
  /** The server no longer knows this entry, and only an operator can remove it. */
  readonly left_behind: boolean
}
