extension Duration {
    /// In seconds, to a tenth: what people read. `description` gives up to eighteen digits.
    var words: String {
        let tenths = Int64((self / .milliseconds(100)).rounded())
        return "\(tenths / 10).\(abs(tenths % 10)) s"
    }
}
