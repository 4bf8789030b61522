"""Checksums of the frozen questions: `mpet_bench.tasks.questions_sha256` of each task on its data set."""

QUESTIONS_SHA256 = {
    "hidden-pair-v1": "26d36ccb1e62ddfcf2221d64476374db89b32bd98cfe54788ced78699f2a1fb7",
    "unseen-microarchitecture-v1": "14727fc08f09ae08fc8e47d313dbcd5caa23b2395ec9dabd874c6075943714ee",
    "unseen-instruction-set-v1": "9207d317214b789113d1ed790b327e67ab0068dfddb008165f3115749f2ecda2",
    "references-1-v1": "508a66d8dfc2f1ef5cd435d69a7126914b0bc1c0b25d4ac8215cbd175bfbc962",
    "references-3-v1": "cd10ce5b238a89626879b2dc076746d87a3d50160d53f98350f0776fbb5cd3b7",
    "references-10-v1": "9c1d7c3c1eec9f13163abdf72bf7c52c2473f92a6612513f49c866412e697b94",
    "five-workloads-v1": "585445290700df2dd8eef6369947628dcc2cbceae6d7da51eb86395ee07abb18",
    "small-databases-v1": "6cf1256c7e6b72e6a6c4da87ca25bb5354ae198b91f58d16cccfdcfa3b3b3716",
    "beyond-n-v1": "802ccc8448603838ed847cbce1a827ac9c9ba69a0c104f6e4936271335360d99",
    "intervals-v1": "e5df6f28adb359042a75e979062bc31fb11cebd20cd4d2470751f3d46fe04d9c",
    "pitot-90-v1": "91e559bd8d3c02fcede97f2a8ad02f1e3e2b22b234f358f0160f97462a0daa25",
    "pitot-50-v1": "3e83c2950d418bcf0c29d843217d4d2794283d5b0c6b1cb857c19265b1d13e0b",
    "pitot-10-v1": "bcbfd1437aec6d83f71674f47805e18522fb826844b5b8c580cc963052019457",
}
